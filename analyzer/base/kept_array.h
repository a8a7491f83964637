// Working memory of one thread that serves block after block, so that the kernel gives it only once.
//
// Room() says nothing of what is in it: whoever asks writes an element before reading it, or clears them. What is
// never touched takes no memory.
#ifndef PLATEAU_ANALYZER_BASE_KEPT_ARRAY_H_
#define PLATEAU_ANALYZER_BASE_KEPT_ARRAY_H_

#include <cstddef>

#include "analyzer/base/zeroed_array.h"

namespace plateau {

template <typename T>
class KeptArray {
 public:
  // Room for so many; what an earlier call returned is no longer valid.
  T* Room(size_t count) {
    if (count > array_.size()) {
      array_ = {};
      array_ = ZeroedArray<T>(count);
    }
    return array_.data();
  }

 private:
  ZeroedArray<T> array_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_KEPT_ARRAY_H_
