// A C++ extension with a leak, used by ../extension_leak.py: counts words, and keeps every text it was ever
// given.
#include <cstddef>
#include <cstring>
#include <vector>

namespace {

std::vector<char*>& Texts() {
  static auto* texts = new std::vector<char*>;
  return *texts;
}

char* KeepText(const char* text, size_t bytes) {
  char* copy = new char[bytes];  // LEAK
  memcpy(copy, text, bytes);
  Texts().push_back(copy);
  return copy;
}

}  // namespace

extern "C" size_t tokenize(const char* text, size_t bytes) {
  const char* copy = KeepText(text, bytes);
  size_t words = 0;
  for (size_t i = 0; i < bytes; ++i) words += copy[i] == ' ' ? 1 : 0;
  return words;
}
