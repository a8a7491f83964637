// What stacks and locations are: the records that events refer to by number.
#include "preload/trace/encoder.h"

namespace plateau::trace {

bool BlockWriter::Node(const NodeRecord& record) {
  if (!HasRoom(kHotRecordBytes)) return false;
  if (record.node != last_.node + 1 || last_.path.size() == 0) return ExplicitNode(record);
  if (record.parent == last_.path.Above(0).node) return CallNode(record);
  const uint32_t distance = last_.path.FindAbove(record.parent);
  return distance != 0 ? BranchNode(record, distance) : ExplicitNode(record);
}

uint8_t* BlockWriter::PutLocation(uint8_t* p, uint32_t location, CallPredictor::Guesses guesses,
                                  uint32_t before) const {
  if (location == guesses.first) return PutVarint(p, kLocationFirstGuess);
  if (location == guesses.second) return PutVarint(p, kLocationSecondGuess);
  if (location == last_.location) return PutVarint(p, kLocationDefinedLast);
  return PutVarint(p, kLocationDelta + ZigZag(Delta(location, before)));
}

bool BlockWriter::CallNode(const NodeRecord& record) {
  const uint32_t caller = last_.path.Above(0).location;
  CallPredictor::Guesses& guesses = last_.calls.From(caller);
  if (record.location == guesses.first) {
    if (run_ == nullptr || out_ != run_ + 1 || *run_ == Tag(Op::kNode, kNodeMaxRun)) {
      run_ = out_;
      return FinishNode(record, kNodeRun, out_ + 1);
    }
    // One byte holds the whole record, so this store commits the node.
    ++header_->record_count;
    last_.path.Push({record.node, record.location});
    last_.node = last_.stack = record.node;
    last_.node_location = record.location;
    __atomic_store_n(run_, static_cast<uint8_t>(*run_ + Tag(Op::kExt, 1)), __ATOMIC_RELEASE);
    return true;
  }
  const bool is_second = record.location == guesses.second;
  uint8_t* const end = is_second ? out_ + 1 : PutLocation(out_ + 1, record.location, {}, caller);
  guesses.Learn(record.location);
  return FinishNode(record, is_second ? kNodeCallSecond : kNodeCallTo, end);
}

bool BlockWriter::BranchNode(const NodeRecord& record, uint32_t distance) {
  const uint32_t before = last_.path.Above(distance - 1).location;
  CallPredictor::Guesses& guesses = last_.calls.After(before);
  const bool is_near = distance <= kNodeNearBranches;
  const bool is_guessed = is_near && record.location == guesses.first;
  const auto near_code = static_cast<uint8_t>((is_guessed ? kNodeBranch : kNodeBranchTo) + distance - 1);
  uint8_t* p = out_ + 1;
  if (!is_near) p = PutVarint(p, distance);
  if (!is_guessed) p = PutLocation(p, record.location, guesses, before);
  guesses.Learn(record.location);
  last_.path.Pop(distance);
  return FinishNode(record, is_near ? near_code : uint8_t{kNodeFarBranchTo}, p);
}

bool BlockWriter::ExplicitNode(const NodeRecord& record) {
  uint8_t* p = PutVarint(out_ + 1, ZigZag(Delta(record.node, last_.node)));
  p = PutVarint(p, ZigZag(Delta(record.node, record.parent)));
  p = PutLocation(p, record.location, {}, last_.node_location);
  last_.path.Restart(record.parent);
  return FinishNode(record, kNodeExplicit, p);
}

bool BlockWriter::FinishNode(const NodeRecord& record, uint8_t code, uint8_t* end) {
  last_.path.Push({record.node, record.location});
  last_.node = last_.stack = record.node;
  last_.node_location = record.location;
  *out_ = Tag(Op::kNode, code);
  CommitDefinition(end);
  return true;
}

bool BlockWriter::Pc(const PcRecord& record) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t* p = out_ + 1;
  const uint8_t flags = record.location == last_.location + 1 ? kPcNextId : 0;
  if (flags == 0) p = PutVarint(p, ZigZag(Delta(record.location, last_.location)));
  p = PutVarint(p, record.module);
  p = PutVarint(p, ZigZag(Delta(record.offset, last_.offset)));
  last_.location = record.location;
  last_.offset = record.offset;
  *out_ = Tag(Op::kPc, flags);
  CommitDefinition(p);
  return true;
}

bool BlockWriter::PythonLocation(const PythonLocationRecord& record) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t* p = out_ + 1;
  const uint8_t flags = record.location == last_.location + 1 ? kPcNextId : 0;
  if (flags == 0) p = PutVarint(p, ZigZag(Delta(record.location, last_.location)));
  p = PutVarint(p, ZigZag(Delta(record.code, last_.code)));
  p = PutVarint(p, record.offset + 1);  // 0: before the first instruction
  last_.location = record.location;
  last_.code = record.code;
  *out_ = Tag(Op::kPc, flags | kPcPython);
  CommitDefinition(p);
  return true;
}

}  // namespace plateau::trace
