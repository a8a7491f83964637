#include "preload/python/frames.h"

#include <atomic>

#include "preload/python/interpreter.h"
#include "preload/python/layout.h"

namespace plateau::python {
namespace {

constexpr uint8_t kOwnedByGenerator = 1;
constexpr uint8_t kFirstShimOwner =
    3;  // this and above: an eval loop's own frame on the C stack, no code of anybody
constexpr uintptr_t kTagBits = 7;  // 3.14 keeps flags in the low bits of references

constinit std::atomic<uint64_t> g_bad_frames{0};

bool IsCode(const void* object) {
  return object != nullptr && ReadPointer(object, kObjectType) == g_interpreter.code_type;
}

// Collects frames and hands the entry mark of a frame that is not shown to the one shown before it.
class Collector {
 public:
  Collector(PythonFrame* out, size_t max) : out_(out), max_(max) {}

  bool full() const { return count_ == max_; }
  size_t count() const { return count_; }
  // Fetches ahead what tells one code object from another: it is read when the walk is over.
  void Add(const Layout& layout, const void* code, uint32_t offset) {
    out_[count_++] = {code, nullptr, offset, false};
    __builtin_prefetch(static_cast<const char*>(code) + layout.code_first_line);
    __builtin_prefetch(static_cast<const char*>(code) + layout.code_line_table);
  }
  void EndGroup(const void* c_stack) {
    if (count_ == 0 || out_[count_ - 1].entry) return;
    out_[count_ - 1].entry = true;
    out_[count_ - 1].c_stack = c_stack;
  }

 private:
  PythonFrame* out_;
  size_t max_;
  size_t count_ = 0;
};

// 3.8 to 3.10: one native eval loop per frame.
bool WalkFrameObjects(const Layout& layout, const void* tstate, Collector* collector) {
  const void* cframe = layout.tstate_cframe != kNoField ? ReadPointer(tstate, layout.tstate_cframe) : nullptr;
  const void* frame = ReadPointer(tstate, layout.tstate_frame);
  for (; frame != nullptr; frame = ReadPointer(frame, layout.frame_previous)) {
    if (collector->full()) return true;
    const void* code = ReadPointer(frame, layout.frame_code);
    if (!IsCode(code)) {
      g_bad_frames.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    const int32_t last = ReadAt<int32_t>(frame, layout.frame_position);
    const int32_t offset = last >= 0 && layout.position == Position::kCodeUnit ? last * 2 : last;
    collector->Add(layout, code, offset < 0 ? kBeforeFirstInstruction : static_cast<uint32_t>(offset));
    collector->EndGroup(cframe);
    if (cframe != nullptr) cframe = ReadPointer(cframe, layout.cframe_previous);
  }
  return false;
}

// 3.11 and later: one native eval loop runs a group of frames. The group ends, rootwards, at the frame marked
// is_entry (3.11) or in front of the eval loop's own frame (3.12 and later).
bool WalkInterpreterFrames(const Layout& layout, const void* tstate, Collector* collector) {
  const void* cframe = nullptr;
  const void* frame = ReadPointer(tstate, layout.tstate_frame);
  if (layout.root == FrameRoot::kCFrame) {
    cframe = frame;
    if (cframe == nullptr) return false;
    frame = ReadPointer(cframe, layout.cframe_frame);
  }
  for (; frame != nullptr; frame = ReadPointer(frame, layout.frame_previous)) {
    const uint8_t owner = ReadAt<uint8_t>(frame, layout.frame_owner);
    if (layout.minor >= 12 && owner >= kFirstShimOwner) {
      collector->EndGroup(frame);
      continue;
    }
    if (collector->full()) return true;
    const uintptr_t reference = ReadAt<uintptr_t>(frame, layout.frame_code);
    const void* code = reinterpret_cast<const void*>(reference & ~kTagBits);
    if (!IsCode(code)) {
      g_bad_frames.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    const char* bytecode = static_cast<const char*>(code) + layout.code_bytecode;
    const int64_t offset = static_cast<const char*>(ReadPointer(frame, layout.frame_position)) - bytecode;
    // A frame that has not reached its first traceable instruction is not there yet, as sys._getframe() sees
    // it.
    const int64_t first = 2 * static_cast<int64_t>(ReadAt<int32_t>(code, layout.code_first_traceable));
    if (owner == kOwnedByGenerator || offset >= first) {
      collector->Add(layout, code, offset < 0 ? kBeforeFirstInstruction : static_cast<uint32_t>(offset));
    }
    if (layout.frame_is_entry != kNoField && ReadAt<uint8_t>(frame, layout.frame_is_entry) != 0) {
      collector->EndGroup(cframe);
      if (cframe != nullptr) cframe = ReadPointer(cframe, layout.cframe_previous);
    }
  }
  return false;
}

}  // namespace

size_t WalkPythonFrames(const WalkScope& scope, PythonFrame* out, size_t max, bool* truncated) {
  *truncated = false;
  if (!scope) return 0;
  const Layout& layout = g_interpreter.layout;
  Collector collector(out, max);
  *truncated = layout.position == Position::kPointer
                   ? WalkInterpreterFrames(layout, scope.thread_state(), &collector)
                   : WalkFrameObjects(layout, scope.thread_state(), &collector);
  return collector.count();
}

uint64_t bad_frames() { return g_bad_frames.load(std::memory_order_relaxed); }

}  // namespace plateau::python
