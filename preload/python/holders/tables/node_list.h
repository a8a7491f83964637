// The objects that a walk has reached, in the order in which they were reached, each with the one it was reached
// from. The list is the queue of the breadth-first walk and the record of all chains.
//
// One thread. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_NODE_LIST_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_NODE_LIST_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

// What a node is: the low three bits of its word, which are 0 in the address of an object.
enum class NodeTag : uint8_t {
  kObject = 0,
  kFrame = 1,   // interpreter frame of 3.11 and later; no object
  kThread = 2,  // state of a thread
  kPart = 3,    // part of the interpreter: a WalkPart in the other bits
};

enum class WalkPart : uint8_t { kNone, kModules, kThreads, kBuiltins, kTypes, kNative, kGarbage };

class NodeList {
 public:
  explicit NodeList(WalkMemory* memory) : memory_(*memory) {}

  bool Initialize() {
    if (!Grow(0)) return false;
    size_ = 1;
    return true;
  }

  // False at the end of memory. Number 0 is never given: it is the parent of roots.
  [[gnu::always_inline]] bool Append(uintptr_t word, uint32_t parent) {
    const uint32_t number = size_;
    if ((number & (kChunkNodes - 1)) == 0 && !Grow(number)) [[unlikely]]
      return false;
    Chunk& chunk = *last_chunk_;
    chunk.words[number & (kChunkNodes - 1)] = word;
    chunk.parents[number & (kChunkNodes - 1)] = parent;
    size_ = number + 1;
    return true;
  }

  uint32_t size() const { return size_; }
  uintptr_t word(uint32_t node) const { return chunks_[node / kChunkNodes]->words[node & (kChunkNodes - 1)]; }
  uint32_t parent(uint32_t node) const {
    return chunks_[node / kChunkNodes]->parents[node & (kChunkNodes - 1)];
  }
  NodeTag tag(uint32_t node) const { return static_cast<NodeTag>(word(node) & 7); }
  const void* object(uint32_t node) const {
    return reinterpret_cast<const void*>(word(node) & ~uintptr_t{7});
  }
  WalkPart part(uint32_t node) const { return static_cast<WalkPart>(word(node) >> 3); }

 private:
  static constexpr uint32_t kChunkNodes = 1 << 17;
  static constexpr size_t kMaxChunks = 1024;  // 134 million objects
  struct Chunk {
    uintptr_t words[kChunkNodes];
    uint32_t parents[kChunkNodes];
  };

  [[gnu::noinline]] bool Grow(uint32_t number) {
    const size_t chunk = number / kChunkNodes;
    if (chunk >= kMaxChunks) return false;
    if (chunks_ == nullptr) chunks_ = memory_.TakeArray<Chunk*>(kMaxChunks);
    if (chunks_ == nullptr) return false;
    chunks_[chunk] = memory_.TakeArray<Chunk>(1);
    last_chunk_ = chunks_[chunk];
    if (last_chunk_ == nullptr) return false;
    return true;
  }

  WalkMemory& memory_;
  Chunk** chunks_ = nullptr;
  Chunk* last_chunk_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_NODE_LIST_H_
