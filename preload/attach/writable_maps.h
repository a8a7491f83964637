// Which pages of the process can be written to, as the kernel tells it in /proc/self/maps.
//
// The loader makes a part of a module read-only as its last act of relocating it. While those pages can still be written
// to, the loader is at work on the module, and its words are not ours to touch.
//
// Allocates: one mapping of its own, given back at the end. Locks: never. Throws: never. errno: untouched.
#ifndef PLATEAU_PRELOAD_ATTACH_WRITABLE_MAPS_H_
#define PLATEAU_PRELOAD_ATTACH_WRITABLE_MAPS_H_

#include <cstddef>
#include <cstdint>

namespace plateau {

class WritableMaps {
 public:
  explicit WritableMaps(const char* maps_file = "/proc/self/maps");
  ~WritableMaps();
  WritableMaps(const WritableMaps&) = delete;
  WritableMaps& operator=(const WritableMaps&) = delete;

  // False when the file could not be read, or has too many lines; then nothing is known.
  bool is_known() const { return is_known_; }
  bool Contains(uintptr_t address) const;

 private:
  struct Range {
    uintptr_t begin, end;
  };
  static constexpr size_t kMaxRanges = 64 * 1024;

  void Take(const char* line);

  Range* ranges_ = nullptr;
  size_t count_ = 0;
  bool is_known_ = false;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_ATTACH_WRITABLE_MAPS_H_
