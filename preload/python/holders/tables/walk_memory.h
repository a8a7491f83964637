// Memory of one walk: pages of our own, within a limit, all given back at the end.
//
// Allocates: never from the traced heap. One thread.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_MEMORY_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "preload/base/arena.h"

namespace plateau::python::holders {

class WalkMemory {
 public:
  explicit WalkMemory(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~WalkMemory() {
    while (last_ != nullptr) {
      Piece* const piece = last_;
      last_ = piece->previous;
      ArenaUnmap(piece, piece->bytes);
    }
  }
  WalkMemory(const WalkMemory&) = delete;
  WalkMemory& operator=(const WalkMemory&) = delete;

  // Zeroed, aligned to 16 bytes; null at the limit or when the kernel refuses.
  void* Take(size_t bytes) {
    const size_t whole = (bytes + sizeof(Piece) + 4095) / 4096 * 4096;
    if (used_bytes_ + whole > limit_bytes_) return nullptr;
    auto* piece = static_cast<Piece*>(ArenaMap(whole));
    if (piece == nullptr) return nullptr;
    piece->previous = last_;
    piece->bytes = whole;
    last_ = piece;
    used_bytes_ += whole;
    return piece + 1;
  }
  template <typename T>
  T* TakeArray(size_t count) {
    return static_cast<T*>(Take(count * sizeof(T)));
  }

  uint64_t used_bytes() const { return used_bytes_; }

 private:
  struct alignas(16) Piece {
    Piece* previous;
    size_t bytes;
  };

  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0;
  Piece* last_ = nullptr;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_WALK_MEMORY_H_
