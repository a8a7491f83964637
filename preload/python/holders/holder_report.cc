#include "preload/python/holders/holder_report.h"

#include <cstring>

#include "preload/python/holders/garbage_cycle.h"
#include "preload/python/holders/native/graph_walk.h"

namespace plateau::python::holders {
namespace {

using trace::HolderEnd;

constexpr size_t kForks = 1 << 14;
constexpr size_t kMaxRows = 66;
constexpr size_t kNoContainer = SIZE_MAX;

std::string_view LastPart(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

}  // namespace

HolderReport::Fork* HolderReport::ForkOf(uint32_t node) {
  constexpr int kMaxProbes = 64;
  for (size_t at = node * 0x9e3779b1u >> 18, i = 0; i < kMaxProbes; at = (at + 1) & (kForks - 1), ++i) {
    Fork& fork = forks_[at];
    if (fork.node == node && fork.stack_number == stack_number_) return &fork;
    if (fork.stack_number == stack_number_) continue;
    fork = {node, stack_number_, 0};
    return &fork;
  }
  return nullptr;
}

void HolderReport::CountWays(const Target& target) {
  const NodeList& nodes = walk_.nodes();
  uint32_t node = target.node;
  for (size_t depth = 0; node != 0 && depth < kMaxDepth; ++depth, node = nodes.parent(node)) {
    Fork* const fork = ForkOf(node);
    if (fork == nullptr || fork->ways++ != 0) return;  // its own way from above was counted before
  }
}

HolderReport::Chain HolderReport::ChainTo(uint32_t node) {
  const NodeList& nodes = walk_.nodes();
  // Its leaf side is forgotten when it is too long: the root's side says whose it is.
  size_t depth = 0;
  for (uint32_t at = node; at != 0; at = nodes.parent(at)) ++depth;
  uint32_t at = node;
  for (; depth > kMaxDepth; --depth) at = nodes.parent(at);
  for (size_t i = depth; i > 0; --i, at = nodes.parent(at)) chain_[i - 1] = at;
  if (depth > 0 && nodes.tag(chain_[0]) == NodeTag::kPart) return {chain_ + 1, depth - 1};
  return {chain_, depth};
}

const void* HolderReport::ObjectOf(const Chain& chain, size_t i) const {
  const NodeList& nodes = walk_.nodes();
  return nodes.tag(chain.nodes[i]) == NodeTag::kObject ? nodes.object(chain.nodes[i]) : nullptr;
}

// Where most chains of the stack part; of equal ones the first. When there is but one chain, the last object that
// can have more of its kind.
size_t HolderReport::ContainerIn(const Chain& chain) {
  size_t best = kNoContainer;
  uint32_t most = 0;
  for (size_t i = 0; i < chain.count; ++i) {
    const void* const object = ObjectOf(chain, i);
    if (object == nullptr) continue;
    const void* const before = i > 0 ? ObjectOf(chain, i - 1) : nullptr;
    uint64_t length, bound;
    const char* type_name;
    if (!namer_.Measure(before, object, &length, &bound, &type_name)) continue;
    const Fork* const fork = ForkOf(chain.nodes[i]);
    const uint32_t ways = fork != nullptr ? fork->ways : 0;
    const bool is_tuple = walk_.types().Of(object).kind == TypeKind::kTuple;
    if (ways > most || (most <= 1 && ways >= most && !is_tuple)) {
      most = ways;
      best = i;
    }
  }
  return best;
}

void HolderReport::Name(const Target& target, Row* row) {
  const Chain chain = ChainTo(target.node);
  trace::HolderRecord& record = row->record;
  if (chain.count == 0) return;
  const size_t container = ContainerIn(chain);
  namer_.Start(&row->path);
  namer_.Root(chain.nodes[0]);
  bool is_below = false;
  for (size_t i = 0; i < chain.count; ++i) {
    const void* const object = ObjectOf(chain, i);
    const void* const before = i > 0 ? ObjectOf(chain, i - 1) : nullptr;
    if (i == container) {
      namer_.Finish();
      const char* type_name = "";
      namer_.Measure(before, object, &record.container_length, &record.container_bound, &type_name);
      record.container = reinterpret_cast<uintptr_t>(object);
      record.container_type = type_name;
      record.container_segments = static_cast<uint32_t>(row->path.count());
      is_below = true;
    }
    if (i + 1 == chain.count || i >= kNamedSteps) break;
    const void* const child = walk_.nodes().object(chain.nodes[i + 1]);
    if (object == nullptr) {
      namer_.StepFromRoot(chain.nodes[i], child);
      continue;
    }
    const Fork* const fork = ForkOf(chain.nodes[i]);
    const uint32_t ways = fork != nullptr ? fork->ways : 0;
    const bool is_index = walk_.types().Of(object).kind == TypeKind::kList;
    // So many ways are not told one by one.
    const bool has_many = ways > kMaxRecords;
    namer_.Step(before, object, child, has_many || (is_below && (i == container ? ways > 1 : is_index)));
  }
  namer_.Finish();
  if (target.is_gradient) row->path.Add({trace::SegmentKind::kAttribute, 0, "grad"});
  if (target.end == HolderEnd::kGraph && target.native_class != nullptr) {
    const ClassName name = ShortClassName(target.native_class);
    row->path.Add({trace::SegmentKind::kGraph, 0, {name.text, name.bytes}});
  }
}

void HolderReport::NameCycle(const Target& target, Row* row) {
  const Chain chain = ChainTo(target.node);
  GarbageCycle cycle(&walk_, &memory_);
  // From what holds the target upwards: the first object that leads back to itself.
  for (size_t i = chain.count; i > 0; --i) {
    const void* const object = ObjectOf(chain, i - 1);
    if (object == nullptr || !cycle.Find(object)) continue;
    namer_.Start(&row->path);
    row->path.Add({trace::SegmentKind::kInside, 0, ShortNameOfType(ReadPointer(object, kObjectType))});
    for (size_t step = 0; step + 1 < cycle.size(); ++step) {
      namer_.Step(step > 0 ? cycle[step - 1] : nullptr, cycle[step], cycle[step + 1], false);
    }
    namer_.Finish();
    row->record.what = ShortNameOfType(ReadPointer(object, kObjectType));
    return;
  }
}

void HolderReport::WriteStack(uint32_t stack, uint64_t walk_number, const HolderOutput& output) {
  ++stack_number_;
  uint64_t asked = 0, lost = 0, lost_bytes = 0;
  for (size_t i = 0; i < targets_.count(); ++i) {
    if (targets_[i].stack != stack) continue;
    ++asked;
    if (targets_[i].node != 0) CountWays(targets_[i]);
  }
  size_t row_count = 0;
  for (size_t i = 0; i < targets_.count(); ++i) {
    const Target& target = targets_[i];
    if (target.stack != stack) continue;
    if (target.node == 0 && target.end == HolderEnd::kNotFound) {
      ++lost;
      lost_bytes += target.bytes;
      continue;
    }
    Row& row = rows_[row_count];
    row = {};
    row.record.walk = walk_number;
    row.record.stack = stack;
    row.record.end = target.end;
    if (target.node == 0) {
      row.record.native_stack = target.native_stack;
      if (target.native_class != nullptr) row.record.what = LastPart(target.native_class);
    } else if (walk_.IsGarbage(target.node)) {
      row.record.end = walk_.IsFrozen(target.node) ? HolderEnd::kFrozen : HolderEnd::kGarbage;
      NameCycle(target, &row);
    } else {
      Name(target, &row);
      if (target.end == HolderEnd::kPath && walk_.IsNative(target.node)) row.record.end = HolderEnd::kNative;
    }
    if (target.end == HolderEnd::kOpaque && target.node != 0)
      row.record.what = ShortNameOfType(ReadPointer(walk_.nodes().object(target.node), kObjectType));
    size_t same = 0;
    while (same < row_count &&
           (rows_[same].record.container != row.record.container ||
            rows_[same].record.end != row.record.end || rows_[same].path.bytes() != row.path.bytes() ||
            rows_[same].record.native_stack != row.record.native_stack ||
            rows_[same].record.what != row.record.what)) {
      ++same;
    }
    rows_[same].targets += 1;
    rows_[same].bytes += target.bytes;
    if (same == row_count && row_count + 1 < kMaxRows) ++row_count;
  }
  for (size_t written = 0; written < kMaxRecords && written < row_count; ++written) {
    size_t best = written;
    for (size_t i = written; i < row_count; ++i) {
      if (rows_[i].targets > rows_[best].targets) best = i;
    }
    if (rows_[best].targets == 0) break;
    Row& row = rows_[best];
    row.record.targets_found = row.targets;
    row.record.targets_asked = asked;
    row.record.bytes = row.bytes;
    row.record.path = row.path.bytes();
    output.write(output.context, row.record);
    row.targets = 0;
    if (best != written) memmove(&rows_[best], &rows_[written], sizeof(Row));
    rows_[written].targets = 0;
  }
  uint64_t other = 0, other_bytes = 0;
  for (size_t i = 0; i < row_count; ++i) {
    if (rows_[i].targets == 0) continue;
    other += rows_[i].targets;
    other_bytes += rows_[i].bytes;
  }
  const auto write_rest = [&](uint64_t targets, uint64_t bytes, const char* what) {
    if (targets == 0) return;
    trace::HolderRecord rest = {};
    rest.walk = walk_number;
    rest.stack = stack;
    rest.end = HolderEnd::kNotFound;
    rest.targets_found = targets;
    rest.targets_asked = asked;
    rest.bytes = bytes;
    rest.what = what;
    output.write(output.context, rest);
  };
  write_rest(other, other_bytes, "other chains");
  write_rest(lost, lost_bytes, "");
}

bool HolderReport::Write(uint64_t walk_number, const HolderOutput& output) {
  chain_ = memory_.TakeArray<uint32_t>(kMaxDepth + 1);
  forks_ = memory_.TakeArray<Fork>(kForks);
  rows_ = memory_.TakeArray<Row>(kMaxRows);
  if (chain_ == nullptr || forks_ == nullptr || rows_ == nullptr) return false;
  for (size_t i = 0; i < targets_.count(); ++i) {
    bool is_first = true;
    for (size_t j = 0; j < i && is_first; ++j) is_first = targets_[j].stack != targets_[i].stack;
    if (is_first) WriteStack(targets_[i].stack, walk_number, output);
  }
  return true;
}

}  // namespace plateau::python::holders
