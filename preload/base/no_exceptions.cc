// What the inline parts of the C++ library refer to when an index is wrong. There are no exceptions here and
// no C++ library to throw them; a wrong index is a mistake of ours that must not go on.
#include <bits/functexcept.h>

namespace std {

void __throw_out_of_range_fmt(const char*, ...) { __builtin_trap(); }

}  // namespace std
