// What stacks and locations are: the records that events refer to by number.
#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

uint32_t Plus(uint32_t base, uint64_t zigzag) { return base + static_cast<uint32_t>(UnZigZag(zigzag)); }

}  // namespace

void RecordReader::DefineNode(uint32_t node, uint32_t parent, uint32_t location, Record* record) {
  record->kind = RecordKind::kNode;
  record->node = {node, parent, location};
  last_.node = node;
  last_.node_location = location;
  last_.stack = node;
}

void RecordReader::NextOfRun(Record* record) {
  const StackPath::Node caller = last_.path.Above(0);
  DefineNode(last_.node + 1, caller.node, last_.calls.From(caller.location).first, record);
  last_.path.Push({last_.node, last_.node_location});
}

bool RecordReader::NodeLocationNumber(CallPredictor::Guesses guesses, uint32_t before, uint32_t* location) {
  uint64_t number = 0;
  if (!Number(&number)) return false;
  switch (number) {
    case kLocationFirstGuess:
      *location = guesses.first;
      return true;
    case kLocationSecondGuess:
      *location = guesses.second;
      return true;
    case kLocationDefinedLast:
      *location = last_.location;
      return true;
    default:
      *location = Plus(before, number - kLocationDelta);
      return true;
  }
}

bool RecordReader::NextNode(uint8_t code, Record* record) {
  uint64_t number = 0;
  uint32_t location = 0;
  if (code == kNodeExplicit) {
    if (!Number(&number)) return false;
    const uint32_t node = Plus(last_.node, number);
    if (!Number(&number)) return false;
    const uint32_t parent = node - static_cast<uint32_t>(UnZigZag(number));
    if (!NodeLocationNumber({}, last_.node_location, &location)) return false;
    DefineNode(node, parent, location, record);
    last_.path.Restart(parent);
    last_.path.Push({node, location});
    return true;
  }
  if (last_.path.size() == 0) return false;
  if (code <= kNodeMaxRun) {
    run_left_ = static_cast<uint8_t>(code - kNodeRun);
    NextOfRun(record);
    return true;
  }
  if (code < kNodeCallTo) {
    uint64_t distance = (code - kNodeBranch) % kNodeNearBranches + 1;
    if (code == kNodeFarBranchTo && !Number(&distance)) return false;
    if (distance == 0 || distance >= last_.path.size()) return false;
    const uint32_t before = last_.path.Above(static_cast<uint32_t>(distance) - 1).location;
    CallPredictor::Guesses& guesses = last_.calls.After(before);
    location = guesses.first;
    if (code >= kNodeBranchTo && !NodeLocationNumber(guesses, before, &location)) return false;
    guesses.Learn(location);
    last_.path.Pop(static_cast<uint32_t>(distance));
  } else {
    const uint32_t caller = last_.path.Above(0).location;
    CallPredictor::Guesses& guesses = last_.calls.From(caller);
    location = guesses.second;
    if (code > kNodeCallSecond || (code == kNodeCallTo && !NodeLocationNumber({}, caller, &location))) {
      return false;
    }
    guesses.Learn(location);
  }
  DefineNode(last_.node + 1, last_.path.Above(0).node, location, record);
  last_.path.Push({last_.node, location});
  return true;
}

bool RecordReader::PassNode() {
  const uint8_t* const start = p_;
  const uint8_t code = *p_++ >> 3;
  const NodeShape shape = kNodeShapes.of[code];
  uint64_t number = 0;
  if (code == kNodeExplicit) {
    if (!Number(&number)) return Fail(start);
    const uint32_t node = Plus(last_.node, number);
    if (!Number(&number) || !Number(&number)) return Fail(start);
    last_.node = node;
    path_size_ = 2;
  } else {
    uint64_t popped = shape.popped;
    if (code == kNodeFarBranchTo && (!Number(&popped) || popped == 0)) return Fail(start);
    if ((shape.nodes == 0 && code != kNodeFarBranchTo) || popped >= path_size_) return Fail(start);
    if ((shape.numbers == 1 || code == kNodeFarBranchTo) && !Number(&number)) return Fail(start);
    const uint32_t nodes = code == kNodeFarBranchTo ? 1 : shape.nodes;
    last_.node += nodes;
    path_size_ = StackPath::SizeAfter(path_size_, static_cast<uint32_t>(popped), nodes);
  }
  last_.stack = last_.node;
  return true;
}

bool RecordReader::NextLocation(uint8_t flags, Record* record) {
  uint64_t number = 2;  // zig-zag of 1
  if (!(flags & kPcNextId) && !Number(&number)) return false;
  last_.location = Plus(last_.location, number);
  if (!Number(&number)) return false;
  if (flags & kPcPython) {
    last_.code = Plus(last_.code, number);
    if (!Number(&number)) return false;
    record->kind = RecordKind::kPythonLocation;
    record->python_location = {last_.location, last_.code, static_cast<uint32_t>(number) - 1};
    return true;
  }
  const auto module = static_cast<uint32_t>(number);
  if (!Number(&number)) return false;
  last_.offset += static_cast<uint64_t>(UnZigZag(number));
  record->kind = RecordKind::kPc;
  record->pc = {last_.location, module, last_.offset};
  return true;
}

}  // namespace plateau::trace
