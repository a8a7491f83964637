// What the packer and the unpacker know about a stream after the same records: the predictions of
// column_codec.h.
//
// Both sides call the same methods in the same order; nothing here depends on which side it is, except that
// only the packer looks objects up by address. Memory: bounded by the records of one packed block.
#ifndef PLATEAU_ANALYZER_PACK_COLUMN_MODEL_H_
#define PLATEAU_ANALYZER_PACK_COLUMN_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace plateau {

// Predicts the next symbol of a sequence from the one, two and three before it.
class SymbolPredictor {
 public:
  static constexpr int kOrders = 3;

  SymbolPredictor() : table_(kOrders * kEntries, kNone) {}

  // Prediction of the longest context first: Guess(0) is order 3, Guess(2) order 1.
  uint32_t Guess(int rank) const { return table_[Slot(rank)]; }
  void Update(uint32_t symbol) {
    for (int rank = 0; rank < kOrders; ++rank) table_[Slot(rank)] = symbol;
    history_[2] = history_[1];
    history_[1] = history_[0];
    history_[0] = symbol;
  }

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  static constexpr size_t kBits = 16;
  static constexpr size_t kEntries = size_t{1} << kBits;

  size_t Slot(int rank) const {
    uint64_t hash = history_[0] * 0x9e3779b97f4a7c15u;
    if (rank < 2) hash = (hash ^ history_[1]) * 0xc2b2ae3d27d4eb4fu;
    if (rank < 1) hash = (hash ^ history_[2]) * 0x165667b19e3779f9u;
    return static_cast<size_t>(rank) * kEntries + (hash >> (64 - kBits));
  }

  std::vector<uint32_t> table_;
  std::array<uint64_t, 3> history_ = {};
};

// Where objects live; each has its own addresses.
enum class Heap : uint8_t { kMalloc, kPymalloc };

// Predicts the address of the next allocation from what was freed.
class AddressPredictor {
 public:
  static constexpr int kDepth = 12;   // candidates per size bin
  static constexpr int kUnsized = 4;  // freed addresses whose size is not known here
  static constexpr int kBump = kDepth + kUnsized;
  static constexpr int kCandidates = kBump + 1;

  explicit AddressPredictor(Heap heap) : header_bytes_(heap == Heap::kMalloc ? 8 : 0), bins_(kBins) {}

  // The candidate's number, or -1.
  int Find(uint64_t bytes, uint64_t address) const {
    const Recent<kDepth>& bin = bins_[Bin(bytes)];
    for (int i = 0; i < bin.size; ++i) {
      if (bin.At(i) == address) return i;
    }
    for (int i = 0; i < unsized_.size; ++i) {
      if (unsized_.At(i) == address) return kDepth + i;
    }
    return address == bump_ ? kBump : -1;
  }
  // False when there is no such candidate.
  bool Get(uint64_t bytes, int candidate, uint64_t* address) const {
    if (candidate == kBump) {
      *address = bump_;
      return true;
    }
    if (candidate < 0 || candidate > kBump) return false;
    if (candidate >= kDepth) {
      if (candidate - kDepth >= unsized_.size) return false;
      *address = unsized_.At(candidate - kDepth);
      return true;
    }
    const Recent<kDepth>& bin = bins_[Bin(bytes)];
    if (candidate >= bin.size) return false;
    *address = bin.At(candidate);
    return true;
  }
  void OnAlloc(uint64_t bytes, uint64_t address, int candidate) {
    if (candidate >= 0 && candidate < kDepth) bins_[Bin(bytes)].Remove(candidate);
    if (candidate >= kDepth && candidate < kBump) unsized_.Remove(candidate - kDepth);
    const uint64_t units = Units(bytes);
    bump_ = address + (header_bytes_ > 0 && units < 2 ? 32 : units * 16);
  }
  void OnFree(uint64_t bytes, uint64_t address) { bins_[Bin(bytes)].Push(address); }
  void OnUnknownFree(uint64_t address) { unsized_.Push(address); }

 private:
  static constexpr size_t kBins = 1024;

  template <int kSize>
  struct Recent {  // newest first; the oldest falls out
    int size = 0;
    int newest = 0;
    std::array<uint64_t, kSize> address = {};

    uint64_t At(int i) const { return address[static_cast<size_t>((newest - i + kSize) % kSize)]; }
    void Push(uint64_t value) {
      newest = (newest + 1) % kSize;
      address[static_cast<size_t>(newest)] = value;
      if (size < kSize) ++size;
    }
    void Remove(int i) {
      for (; i > 0; --i) {
        address[static_cast<size_t>((newest - i + kSize) % kSize)] = At(i - 1);
      }
      newest = (newest - 1 + kSize) % kSize;
      --size;
    }
  };

  uint64_t Units(uint64_t bytes) const { return (bytes + header_bytes_ + 15) / 16; }
  size_t Bin(uint64_t bytes) const {
    const uint64_t units = Units(bytes);
    return static_cast<size_t>(units < kBins / 2 ? units
                                                 : kBins / 2 + units * 0x9e3779b97f4a7c15u % (kBins / 2));
  }

  uint64_t header_bytes_;  // in front of every object
  std::vector<Recent<kDepth>> bins_;
  Recent<kUnsized> unsized_;
  uint64_t bump_ = 0;
};

// The stack nodes defined so far, by id. Ids come in runs, so they are kept in pages.
class NodeTable {
 public:
  struct Node {
    uint32_t parent;
    uint32_t location;
    bool known;
  };

  // nullptr when the node was not defined in this payload.
  const Node* Find(uint32_t id) const {
    const uint32_t number = id >> kPageBits;
    if (number != last_number_) {
      const auto it = pages_.find(number);
      if (it == pages_.end()) return nullptr;
      last_number_ = number;
      last_page_ = it->second.get();
    }
    const Node* node = &(*last_page_)[id & (kPageNodes - 1)];
    return node->known ? node : nullptr;
  }
  void Set(uint32_t id, uint32_t parent, uint32_t location) {
    std::unique_ptr<Page>& page = pages_[id >> kPageBits];
    if (page == nullptr) page = std::make_unique<Page>();
    (*page)[id & (kPageNodes - 1)] = {parent, location, true};
  }

 private:
  static constexpr uint32_t kPageBits = 8;
  static constexpr uint32_t kPageNodes = 1u << kPageBits;
  using Page = std::array<Node, kPageNodes>;

  absl::flat_hash_map<uint32_t, std::unique_ptr<Page>> pages_;
  mutable uint32_t last_number_ = UINT32_MAX;
  mutable const Page* last_page_ = nullptr;
};

// Predicts a stack node's parent and location.
class StackPredictor {
 public:
  static constexpr int kMaxUp = 250;
  static constexpr int kLocations = 4;

  StackPredictor() : children_(kContexts) {}

  // How many steps up from the last stack `parent` lies, or -1.
  int FindParent(uint32_t parent) const {
    uint32_t node = last_;
    for (int up = 0; up <= kMaxUp; ++up) {
      if (node == parent) return up;
      const NodeTable::Node* known = nodes_.Find(node);
      if (known == nullptr) return -1;
      node = known->parent;
    }
    return -1;
  }
  bool GetParent(int up, uint32_t* parent) const {
    uint32_t node = last_;
    for (; up > 0; --up) {
      const NodeTable::Node* known = nodes_.Find(node);
      if (known == nullptr) return false;
      node = known->parent;
    }
    *parent = node;
    return true;
  }
  int FindLocation(uint32_t parent, uint32_t location) const {
    const Children& children = children_[Context(parent)];
    for (int i = 0; i < kLocations; ++i) {
      if (children[static_cast<size_t>(i)] == location) return i;
    }
    return -1;
  }
  uint32_t GetLocation(uint32_t parent, int i) const {
    return children_[Context(parent)][static_cast<size_t>(i)];
  }

  void OnNode(uint32_t node, uint32_t parent, uint32_t location) {
    Children& children = children_[Context(parent)];
    size_t i = 0;
    while (i + 1 < kLocations && children[i] != location) ++i;
    for (; i > 0; --i) children[i] = children[i - 1];
    children[0] = location;
    nodes_.Set(node, parent, location);
    last_ = node;
  }
  void OnStack(uint32_t node) { last_ = node; }

 private:
  static constexpr size_t kContextBits = 16;
  static constexpr size_t kContexts = size_t{1} << kContextBits;
  using Children = std::array<uint32_t, kLocations>;

  // What was called from the same place before: the parent's own location.
  size_t Context(uint32_t parent) const {
    const NodeTable::Node* known = nodes_.Find(parent);
    const uint64_t location = known == nullptr ? 0 : known->location;
    return static_cast<size_t>(location * 0x9e3779b97f4a7c15u >> (64 - kContextBits));
  }

  NodeTable nodes_;
  std::vector<Children> children_;
  uint32_t last_ = 0;
};

// The (size, stack, heap) classes and the objects of each, in the order of their birth.
class ObjectClasses {
 public:
  struct Class {
    uint64_t bytes;
    uint32_t stack;
    Heap heap;
    uint64_t last_distance = 0;
    std::vector<uint64_t> addresses;  // of every object born so far
  };
  struct Object {
    uint32_t class_id;
    uint32_t ordinal;
  };

  size_t size() const { return classes_.size(); }
  Class& Get(uint32_t id) { return classes_[id]; }
  // -1 when new.
  int64_t Find(uint64_t bytes, uint32_t stack, Heap heap) const {
    const auto it = ids_.find(std::make_tuple(bytes, stack, heap));
    return it == ids_.end() ? -1 : static_cast<int64_t>(it->second);
  }
  uint32_t Add(uint64_t bytes, uint32_t stack, Heap heap) {
    const uint32_t id = static_cast<uint32_t>(classes_.size());
    classes_.push_back({bytes, stack, heap, 0, {}});
    ids_[std::make_tuple(bytes, stack, heap)] = id;
    return id;
  }

  void OnAlloc(uint32_t id, uint64_t address, bool index_by_address) {
    Class& c = classes_[id];
    if (index_by_address) live_[Key(address, c.heap)] = {id, static_cast<uint32_t>(c.addresses.size())};
    c.addresses.push_back(address);
  }
  // Packer only: the live object at `address`, which is then forgotten.
  bool Take(uint64_t address, Heap heap, Object* object) {
    const auto it = live_.find(Key(address, heap));
    if (it == live_.end()) return false;
    *object = it->second;
    live_.erase(it);
    return true;
  }

 private:
  static uint64_t Key(uint64_t address, Heap heap) { return address << 1 | static_cast<uint64_t>(heap); }

  std::vector<Class> classes_;
  absl::flat_hash_map<std::tuple<uint64_t, uint32_t, Heap>, uint32_t> ids_;
  absl::flat_hash_map<uint64_t, Object> live_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_COLUMN_MODEL_H_
