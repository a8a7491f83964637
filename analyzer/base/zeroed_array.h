// An array of zeros for large tables.
//
// What is never touched takes address space but no memory, so an array may be larger than what is known to be
// needed. Small arrays come from the C heap. T must be trivial and zero must mean "empty". Throws
// std::bad_alloc. Movable; the memory is given back at the end.
#ifndef PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_
#define PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "analyzer/base/pages_ahead.h"

namespace plateau {

// `bytes` of zeros, and back. Give the same number to both.
void* AllocateZeroed(size_t bytes);
void FreeZeroed(void* memory, size_t bytes);
// Whether that many bytes are pages of their own, which nobody touched.
bool IsUntouched(size_t bytes);

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(AllocateZeroed(size * sizeof(T)))), size_(size) {
    if (IsUntouched(size * sizeof(T))) ahead_ = PagesAhead(data_, size * sizeof(T));
  }
  ~ZeroedArray() {
    if (data_ != nullptr) FreeZeroed(data_, size_ * sizeof(T));
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        ahead_(std::move(other.ahead_)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(ahead_, other.ahead_);
    return *this;
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }

  // Best called before an element is used, where the first use of elements is about in their order: memory
  // for those that follow is made ready along with it. From any thread.
  void Reach(size_t i) { ahead_.Use(data_ + i); }
  // The same where nearly all of the first `count` will be used, in any order.
  void ReachAll(size_t count) { ahead_.UseAllBefore(data_ + count); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  PagesAhead ahead_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_
