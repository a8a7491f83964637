#include "preload/python/merged_stack.h"

#include "preload/python/interpreter.h"
#include "preload/python/python_nodes.h"

namespace plateau::python {
namespace {

constexpr uint32_t kNowhere = 0xffffffff;

bool IsInEvalLoop(uintptr_t pc) {
  return pc - g_interpreter.eval_begin - 1 < g_interpreter.eval_end - g_interpreter.eval_begin;
}

// Consumes native frames from the leaf on to find the eval loops of the groups, in the same order.
class EvalLoopFinder {
 public:
  explicit EvalLoopFinder(const unwind::StackWalker& walker) : walker_(walker), next_(walker.depth()) {}

  // The index of the native frame of the group that ends with `entry`, kNowhere when there is none left.
  uint32_t Find(const PythonFrame& entry) {
    for (uint32_t i = next_; i > 0; --i) {
      if (!IsLoopOf(entry, i - 1)) continue;
      next_ = i - 1;
      return next_;
    }
    return kNowhere;
  }

 private:
  bool IsLoopOf(const PythonFrame& entry, uint32_t index) const {
    if (entry.c_stack == nullptr) return IsInEvalLoop(walker_.frames()[index].pc);
    const auto address = reinterpret_cast<uintptr_t>(entry.c_stack);
    return address >= walker_.frames()[index].rsp && address < walker_.Cfa(index);
  }

  const unwind::StackWalker& walker_;
  uint32_t next_;
};

const PythonFrame* NewestEntry(const PythonStack& stack) {
  for (size_t i = 0; i < stack.count; ++i) {
    if (stack.frames[i].entry) return &stack.frames[i];
  }
  return nullptr;
}

// For interpreters without an address on the C stack: the native frames above the newest eval loop.
uint32_t CaptureAboveEvalLoop(unwind::ThreadCapture& thread, const unwind::Registers& registers,
                              const unwind::DefinitionSink& sink, uint32_t parent) {
  const uint32_t depth = unwind::WalkStack(thread, registers);
  uint32_t first = 0;  // no eval loop: all of them, nothing is dropped
  for (uint32_t i = depth; i > 0; --i) {
    if (!IsInEvalLoop(thread.walker().frames()[i - 1].pc)) continue;
    first = i - 1;
    break;
  }
  uint32_t node = parent;
  for (uint32_t i = first; i < depth && node != 0; ++i) node = unwind::InternFrame(thread, i, node, sink);
  return node;
}

// Python frames [begin, end) of a leaf-first stack, under `node`.
uint32_t InternGroup(const WalkScope& scope, const PythonStack& stack, size_t begin, size_t end,
                     uint32_t node, unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink,
                     bool* failed) {
  for (size_t i = end; i > begin && !*failed; --i) {
    node = InternPythonFrame(scope, stack.frames[i - 1], node, thread, sink);
    *failed = node == 0;
  }
  return node;
}

// Root first: native frames, and each group of Python frames in place of its eval loop.
uint32_t CaptureFull(const WalkScope& scope, const PythonStack& stack, unwind::ThreadCapture& thread,
                     const unwind::Registers& registers, const unwind::DefinitionSink& sink) {
  struct Group {
    uint16_t end;   // one past its root-most frame
    uint32_t loop;  // index of its native frame
  };
  static_assert(kMaxPythonFrames <= 128, "Group lists live on the stack");
  Group groups[kMaxPythonFrames];
  size_t group_count = 0;
  const uint32_t depth = unwind::WalkStack(thread, registers);
  EvalLoopFinder finder(thread.walker());
  for (size_t i = 0; i < stack.count; ++i) {
    if (!stack.frames[i].entry && i + 1 < stack.count) continue;
    const uint32_t loop = stack.frames[i].entry ? finder.Find(stack.frames[i]) : kNowhere;
    groups[group_count++] = {static_cast<uint16_t>(i + 1), loop};
  }

  bool failed = false;
  uint32_t node = 0;
  if (stack.truncated || unwind::IsTruncation(thread.walker().end())) {
    node = InternCutMark(thread, sink);
    failed = node == 0;
  }
  uint32_t native = 0;
  for (size_t g = group_count; g > 0 && !failed; --g) {
    const Group& group = groups[g - 1];
    const size_t begin = g > 1 ? groups[g - 2].end : 0;
    if (group.loop != kNowhere) {
      for (; native < group.loop && !failed; ++native) {
        node = unwind::InternFrame(thread, native, node, sink);
        failed = node == 0;
      }
      native = group.loop + 1;
    }
    node = InternGroup(scope, stack, begin, group.end, node, thread, sink, &failed);
  }
  for (; native < depth && !failed; ++native) {
    node = unwind::InternFrame(thread, native, node, sink);
    failed = node == 0;
  }
  return failed ? unwind::kNoStack : node;
}

}  // namespace

uint32_t CaptureMergedStack(unwind::ThreadCapture& thread, const unwind::Registers& registers,
                            const unwind::DefinitionSink& sink, NativeFrames native_frames) {
  uint32_t parent = 0;
  uintptr_t stop_address = 0;
  {
    const WalkScope scope;
    const PythonStack stack = WalkPythonStack(scope);
    if (stack.count != 0) {
      if (native_frames == NativeFrames::kFull) {
        const uint32_t node = CaptureFull(scope, stack, thread, registers, sink);
        if (node != unwind::kNoStack) return node;
      } else {
        parent = InternPythonStack(scope, stack, thread, sink);
        const PythonFrame* entry = NewestEntry(stack);
        if (entry != nullptr) stop_address = reinterpret_cast<uintptr_t>(entry->c_stack);
      }
    }
  }
  if (parent == 0) return unwind::CaptureStack(thread, registers, sink);
  if (stop_address == 0) return CaptureAboveEvalLoop(thread, registers, sink, parent);
  return unwind::CaptureStackAbove(thread, registers, sink, parent, stop_address);
}

}  // namespace plateau::python
