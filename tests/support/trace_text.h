// Traces written as text, so that a reviewer can read a test's input.
//
//   header mode=exact pid=100 clean_exit=1     # optional; settings of the file header
//   stream 1                                   # the records that follow belong to this thread
//   module module=1 base=0x400000 begin=0x400000 bytes=65536 path="/opt/train"
//   pc location=1 module=1 offset=0x10
//   node node=1 parent=0 location=1
//   @1200 alloc address=0x7f0010 bytes=10001 stack=1
//   seal                                       # closes the block; the next record starts another
//   open                                       # the stream's block stays in a ring slot, as after a kill
//   skip 2                                     # leaves out two block numbers: a gap
//   flip 5000                                  # damage: one bit of the finished file's byte 5000
//   zero 8192 4096                             # damage: 4096 bytes from 8192 on
//   cut 9000                                   # damage: the file ends here
//
// Loops are written as in text_loops.h. Records are written as `plateau dump` prints them; fields that are left out are 0 (the header's python_sample is its sample). Blocks are closed at the
// end. A mistake in the text throws std::invalid_argument with the line.
#ifndef PLATEAU_TESTS_SUPPORT_TRACE_TEXT_H_
#define PLATEAU_TESTS_SUPPORT_TRACE_TEXT_H_

#include <string>
#include <string_view>

namespace plateau::testing {

// The bytes of the trace file.
std::string TraceFromText(std::string_view text);

// Writes bytes to a file of that name in the test's temporary directory and gives back its path.
std::string WriteTemporary(std::string_view name, std::string_view bytes);

}  // namespace plateau::testing

#endif  // PLATEAU_TESTS_SUPPORT_TRACE_TEXT_H_
