// An array of zeros for large tables.
//
// What is never touched takes address space but no memory, so an array may be larger than what is known to be
// needed. Small arrays come from the C heap. T must be trivial and zero must mean "empty". The constructor
// throws std::bad_alloc. Movable; the memory is given back at the end.
#ifndef PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_
#define PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_

#include <cstddef>
#include <type_traits>
#include <utility>

namespace plateau {

// `bytes` of zeros, and back. Give the same number to both.
void* AllocateZeroed(size_t bytes);
void FreeZeroed(void* memory, size_t bytes);

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(AllocateZeroed(size * sizeof(T)))), size_(size) {}
  ~ZeroedArray() {
    if (data_ != nullptr) FreeZeroed(data_, size_ * sizeof(T));
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_ZEROED_ARRAY_H_
