// Text for formats that must be UTF-8, made of names that may be anything.
#ifndef PLATEAU_ANALYZER_BASE_VALID_UTF8_H_
#define PLATEAU_ANALYZER_BASE_VALID_UTF8_H_

#include <string>

namespace plateau {

// The text with U+FFFD in place of every byte that is no part of valid UTF-8.
std::string ValidUtf8(std::string text);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_VALID_UTF8_H_
