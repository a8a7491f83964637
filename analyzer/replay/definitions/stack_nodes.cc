#include "analyzer/replay/definitions/stack_nodes.h"

#include <algorithm>
#include <bit>
#include <new>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/prefetch.h"

namespace plateau::replay {
namespace {

// Numbers are given out from 1 upwards by the shim. A damaged or hostile one must not make us allocate
// without bound.
constexpr size_t kMaxNodes = size_t{1} << StackNodes::kNumberBits;
constexpr size_t kMinNodes = size_t{1} << 20;

// Address space is free, but for the address sanitizer, which marks every page of it: there a fuzzer would spend its time.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kReservedNodes = kMinNodes;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr size_t kReservedNodes = kMinNodes;
#else
constexpr size_t kReservedNodes = kMaxNodes;
#endif
#else
constexpr size_t kReservedNodes = kMaxNodes;
#endif

ZeroedArray<StackNode> Reserve() {
  for (size_t nodes = kReservedNodes;; nodes /= 2) {
    try {
      return ZeroedArray<StackNode>(nodes);
    } catch (const std::bad_alloc&) {  // as under `ulimit -v`
      if (nodes <= kMinNodes) throw;
    }
  }
}

// The node of each (parent, location), first come first kept. Of most nodes the only child is the next node,
// which needs no place here: whoever asks looks there first.
//
// Nodes are numbered as stacks appear, so neighbours have neighbours for parents: 32 parents share a line of
// sixteen places, and the table is walked rather than jumped through. Some bits of the location beside a
// node's number spare a look at nodes that only happen to be in the same line. What finds two lines full, as
// the children of the few nodes that have many, is in a map.
class ChildTable {
 public:
  explicit ChildTable(size_t nodes)
      : id_mask_(static_cast<uint32_t>((uint64_t{1} << std::bit_width(nodes)) - 1)),
        places_((nodes / kParents + 3) * kPlaces) {}

  // `node` when there was none like it. `of` gives parent and location of a node that was added.
  template <typename NodeOf>
  uint32_t FindOrAdd(uint32_t node, const StackNode& like, NodeOf&& of) {
    uint32_t* const line = LineOf(like.parent);
    const uint32_t hash = like.location * 0x9E3779B1u;
    const uint32_t tag = hash & ~id_mask_;
    uint32_t place = (like.parent + (hash >> 16)) % kPlaces;
    for (const uint32_t end = place + kTried; place < end; ++place) {
      const uint32_t found = line[place];
      if (found == 0) {
        line[place] = tag | node;
        return node;
      }
      if (((found ^ tag) & ~id_mask_) != 0) continue;
      const StackNode& other = of(found & id_mask_);
      if (other.location == like.location && other.parent == like.parent) return found & id_mask_;
    }
    return overflow_.try_emplace(uint64_t{like.parent} << 32 | like.location, node).first->second;
  }

  // Loads what FindOrAdd() of a child of this node needs.
  void Prefetch(uint32_t parent) { PrefetchForWriting(LineOf(parent)); }

 private:
  static constexpr size_t kPlaces = 16;  // a cache line of them
  static constexpr size_t kTried = 32;   // two lines
  static constexpr size_t kParents = 32;
  uint32_t* LineOf(uint32_t parent) { return &places_[parent / kParents * kPlaces]; }

  uint32_t id_mask_;
  ZeroedArray<uint32_t> places_;  // node, and bits of its location above; 0: free
  absl::flat_hash_map<uint64_t, uint32_t> overflow_;
};

}  // namespace

StackNodes::StackNodes() : nodes_(Reserve()) {}

class StackNodes::Merger {
 public:
  explicit Merger(StackNodes* nodes)
      : nodes_(*nodes), size_(static_cast<uint32_t>(nodes->size())), children_(nodes->size()) {}

  void Run() {
    constexpr uint32_t kAhead = 24;
    const StackNode* const nodes = nodes_.nodes_.data();
    const uint32_t size = size_;
    for (uint32_t node = 1; node < size; ++node) {
      if (node + kAhead < size) {
        const uint32_t soon = node + kAhead, parent = nodes[soon].parent;
        if (parent + 1 != soon && parent < size) children_.Prefetch(parent);
      }
      // What most are: the first child of the node before, which is the first of its path. Nothing to do.
      const bool is_next = nodes[node].parent + 1 == node && nodes[node].location != 0;
      if (is_next && (nodes[node - 1].location != 0 || node == 1) && states_.size() == 0) continue;
      turn_ = node;
      if (Is(turn_, kSettled)) continue;
      if (nodes_[turn_].parent < turn_) {
        Settle(turn_, nodes_.Canonical(nodes_[turn_].parent));
      } else {
        SettleWithCallers();
      }
    }
  }

 private:
  // Of nodes that do not wait for their turn.
  enum State : uint8_t {
    kBusy = 1,
    kSettled = 2,
    kHasChild = 4,  // one that was settled before its turn
  };
  bool Is(uint32_t node, State state) const { return states_.size() != 0 && (states_[node] & state) != 0; }

  // `parent` is canonical.
  void Settle(uint32_t node, uint32_t parent) {
    StackNode& settled = nodes_.nodes_[node];
    if (settled.location == 0) {                    // named as a parent or not at all, never defined
      if (settled.parent != 0) settled.parent = 0;  // in a damaged trace most are not even memory
      return;
    }
    settled.parent = parent;
    if (parent + 1 == node && !Is(parent, kHasChild)) return;  // the first child that its parent has
    const uint32_t first = FirstLike(node, settled);
    if (first != node) settled = {first, 0};
  }

  uint32_t FirstLike(uint32_t node, const StackNode& like) {
    const uint32_t next = like.parent + 1;
    const bool is_settled = next < turn_ || Is(next, kSettled);
    if (is_settled && nodes_[next].parent == like.parent && nodes_[next].location == like.location)
      return next;
    return children_.FindOrAdd(node, like, [this](uint32_t id) -> const StackNode& { return nodes_[id]; });
  }

  // When the caller has a larger number: threads take numbers in batches, and use each other's nodes.
  void SettleWithCallers() {
    if (states_.size() == 0) states_ = ZeroedArray<uint8_t>(size_t{size_} + 1);
    uint32_t node = turn_;
    for (; node >= turn_ && node < size_ && (states_[node] & (kBusy | kSettled)) == 0;
         node = nodes_[node].parent) {
      states_[node] |= kBusy;
      path_.push_back(node);
    }
    const bool is_cycle = node >= turn_ && node < size_ && (states_[node] & kSettled) == 0;
    uint32_t parent = is_cycle ? 0 : nodes_.Canonical(node);
    for (; !path_.empty(); path_.pop_back()) {
      node = path_.back();
      Settle(node, parent);
      states_[node] |= kSettled;
      states_[parent] |= kHasChild;
      parent = nodes_.Canonical(node);
    }
  }

  StackNodes& nodes_;
  const uint32_t size_;
  uint32_t turn_ = 0;
  ChildTable children_;
  ZeroedArray<uint8_t> states_;  // by node; empty as long as all had their turn
  std::vector<uint32_t> path_;   // scratch of SettleWithCallers
};

void StackNodes::MergeEqual() { Merger(this).Run(); }

}  // namespace plateau::replay
