// Text of bounded length on the stack: what snprintf would be, without locale, locks or malloc.
//
//   FixedText<256> text;
//   text << "cannot write " << path << ": error " << 28;
//
// What does not fit is cut; the text always ends with a 0. Safe everywhere. Allocates: never.
#ifndef PLATEAU_PRELOAD_BASE_FIXED_TEXT_H_
#define PLATEAU_PRELOAD_BASE_FIXED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace plateau {

template <size_t kCapacity>
class FixedText {
 public:
  FixedText& operator<<(std::string_view text) {
    const size_t room = kCapacity - 1 - size_;
    const size_t bytes = text.size() < room ? text.size() : room;
    std::memcpy(data_ + size_, text.data(), bytes);
    size_ += bytes;
    data_[size_] = 0;
    return *this;
  }
  FixedText& operator<<(const char* text) { return *this << std::string_view(text); }
  FixedText& operator<<(char character) { return *this << std::string_view(&character, 1); }
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  FixedText& operator<<(T number) {
    uint64_t value = static_cast<uint64_t>(number);
    if constexpr (std::is_signed_v<T>) {
      if (number < 0) {
        *this << '-';
        value = 0 - value;
      }
    }
    char digits[20];
    size_t first = sizeof(digits);
    do {
      digits[--first] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return *this << std::string_view(digits + first, sizeof(digits) - first);
  }

  const char* c_str() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }
  void Clear() { data_[size_ = 0] = 0; }
  // Gives up everything behind the first `size` bytes.
  void CutTo(size_t size) {
    if (size >= size_ || size >= kCapacity) return;
    size_ = size;
    data_[size_] = 0;
  }

 private:
  size_t size_ = 0;
  char data_[kCapacity] = {};
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_FIXED_TEXT_H_
