// The stack nodes defined so far, and what a new one probably is: a child of a node near the last stack, with
// a location that was called from its parent's location before.
#ifndef PLATEAU_ANALYZER_PACK_STACK_MODEL_H_
#define PLATEAU_ANALYZER_PACK_STACK_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/pack/mixed_model.h"

namespace plateau {

// By id. Ids come in runs, so they are kept in pages.
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
  // 0 when it is not known.
  uint32_t LocationOf(uint32_t id) const {
    const Node* node = Find(id);
    return node == nullptr ? 0 : node->location;
  }

 private:
  static constexpr uint32_t kPageBits = 6;
  static constexpr uint32_t kPageNodes = 1u << kPageBits;
  using Page = std::array<Node, kPageNodes>;

  absl::flat_hash_map<uint32_t, std::unique_ptr<Page>> pages_;
  mutable uint32_t last_number_ = UINT32_MAX;
  mutable const Page* last_page_ = nullptr;
};

class StackModel {
 public:
  static constexpr int kMaxUp = 250;
  static constexpr size_t kLocations = 6;

  // What is known about a node before its location: where it hangs.
  struct Place {
    uint32_t parent_location;
    uint32_t beside;  // location that the last stack had under the same parent, or above it 0
  };

  explicit StackModel(int table_bits) : shift_(64 - table_bits), called_(size_t{1} << table_bits) {}

  const NodeTable& nodes() const { return nodes_; }
  uint32_t last() const { return last_; }            // stack or node
  uint32_t last_node() const { return last_node_; }  // defined last

  // What a line of code is known by: the innermost locations of its stack.
  uint64_t PlaceOf(uint32_t stack) const {
    constexpr int kDepth = 3;
    uint64_t place = 0;
    for (int i = 0; i < kDepth; ++i) {
      const NodeTable::Node* known = nodes_.Find(stack);
      if (known == nullptr) return HashOf(place, stack, 7);
      place = HashOf(place, known->location);
      stack = known->parent;
    }
    return place;
  }

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
  // False when the last stack is not that deep. `beside`: location of the step before.
  bool GetParent(uint64_t up, uint32_t* parent, uint32_t* beside) const {
    uint32_t node = last_;
    *beside = 0;
    for (; up > 0; --up) {
      const NodeTable::Node* known = nodes_.Find(node);
      if (known == nullptr) return false;
      *beside = known->location;
      node = known->parent;
    }
    *parent = node;
    return true;
  }

  const std::array<uint32_t, kLocations>& Called(const Place& place) const {
    return called_[CalledIndex(place)];
  }

  void OnNode(uint32_t node, uint32_t parent, uint32_t location, const Place& place) {
    std::array<uint32_t, kLocations>& called = called_[CalledIndex(place)];
    size_t i = 0;
    while (i + 1 < kLocations && called[i] != location) ++i;
    for (; i > 0; --i) called[i] = called[i - 1];
    called[0] = location;
    nodes_.Set(node, parent, location);
    last_ = last_node_ = node;
  }
  void OnStack(uint32_t node) { last_ = node; }

 private:
  size_t CalledIndex(const Place& place) const {
    return static_cast<size_t>(HashOf(place.parent_location, 1) >> shift_);
  }

  int shift_;
  NodeTable nodes_;
  std::vector<std::array<uint32_t, kLocations>> called_;
  uint32_t last_ = 0;
  uint32_t last_node_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_STACK_MODEL_H_
