// Loops for texts that describe long runs (trace_text.h): three lines instead of a thousand.
//
//   for step 1 160                                    # or `for step 1 160 40`: every 40th
//     @{step*1000} alloc address={0x1000 + step*64} bytes=10001 stack=1
//     if {step % 40 == 0} @{step*1000} mark kind=epoch
//   end
//
// {expression} becomes its value: integers, loop variables, + - * / % == < > and parentheses, evaluated as
// signed 64-bit numbers. `if N rest` keeps the rest of the line when N is not 0. Loops nest. A mistake throws
// std::invalid_argument with the line.
#ifndef PLATEAU_TESTS_SUPPORT_TEXT_LOOPS_H_
#define PLATEAU_TESTS_SUPPORT_TEXT_LOOPS_H_

#include <string>
#include <string_view>

namespace plateau::testing {

std::string ExpandLoops(std::string_view text);

}  // namespace plateau::testing

#endif  // PLATEAU_TESTS_SUPPORT_TEXT_LOOPS_H_
