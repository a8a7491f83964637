#include "preload/python/holders/object_walk.h"

#include "preload/python/holders/native/native_search.h"
#include "preload/python/interpreter.h"

namespace plateau::python::holders {
namespace {

constexpr uint32_t kPrefetchAhead = 12;
constexpr uint32_t kVisitsPerCheck = 1024;
constexpr int64_t kLargeLength = 1 << 14;
constexpr int kMaxExceptions = 20000;
constexpr uint64_t kLeastNativeNs = 20'000'000;

}  // namespace

bool ObjectWalk::Initialize() {
  modules_ = memory_.TakeArray<Module>(kMaxModules);
  return modules_ != nullptr && types_.Initialize() && visited_.Initialize() && nodes_.Initialize() &&
         types_met_.Initialize() && tensors_.Initialize() && large_.Initialize() && CollectModules();
}

bool ObjectWalk::IsTimeUp() {
  if (clock_.IsUp()) is_late_ = true;
  return is_late_;
}

bool ObjectWalk::WalkOn() {
  while (next_ < nodes_.size() || VisitNextLarge()) {
    if ((next_ & (kVisitsPerCheck - 1)) == 0 && IsTimeUp()) return false;
    if (is_late_ || is_full_ || visited_.full()) return false;
    if (targets_.found() == targets_.count()) return false;
    const uint32_t end =
        nodes_.size() - next_ > kVisitsPerCheck ? (next_ | (kVisitsPerCheck - 1)) + 1 : nodes_.size();
    for (; next_ < end; ++next_) {
      if (next_ + kPrefetchAhead < nodes_.size()) {
        const auto* ahead = static_cast<const char*>(nodes_.object(next_ + kPrefetchAhead));
        __builtin_prefetch(ahead);
      }
      Visit(next_);
    }
  }
  return true;
}

void ObjectWalk::Visit(uint32_t node) {
  current_ = node;
  switch (nodes_.tag(node)) {
    case NodeTag::kObject:
      return VisitObject(nodes_.object(node));
    case NodeTag::kFrame:
      return VisitFrame(nodes_.object(node));
    case NodeTag::kThread:
      return VisitThread(nodes_.object(node));
    case NodeTag::kPart:
      return;
  }
}

int ObjectWalk::ReachFromTraverse(void* child, void* context) {
  auto* const walk = static_cast<ObjectWalk*>(context);
  // The class of an object is not what a user means by its holder; it comes last.
  if (child == walk->current_type_) [[unlikely]] {
    if (!walk->defers_types_) walk->Reach(child);
    return 0;
  }
  walk->Reach(child);
  return walk->is_late_ || walk->is_full_ ? 1 : 0;  // ends the traversal
}

void ObjectWalk::VisitObject(const void* object) {
  const void* const type = ReadPointer(object, kObjectType);
  TypeInfo& info = types_.Get(type);
  Match(reinterpret_cast<uintptr_t>(object) - info.header_bytes);
  if (info.kind >= TypeKind::kList || info.own_bytes != 0) MatchTables(object, info);
  if (info.traverse == nullptr) return;
  if (info.kind == TypeKind::kType && (ReadAt<uint64_t>(object, kTypeFlags) & kHeapTypeFlag) == 0) {
    return VisitStaticType(object);
  }
  if (info.is_heap_type && defers_types_ && !info.is_deferred) {
    info.is_deferred = true;
    types_met_.Append(reinterpret_cast<uintptr_t>(type), current_);
  }
  // A container of very many items comes after the others: what is beside it is found before the time is up.
  if (IsLarge(object, info.kind) && large_.Append(reinterpret_cast<uintptr_t>(object), current_)) return;
  current_type_ = type;
  info.traverse(object, ReachFromTraverse, this);
}

bool ObjectWalk::IsLarge(const void* object, TypeKind kind) {
  if (kind == TypeKind::kList || kind == TypeKind::kTuple) return SizeOf(object) > kLargeLength;
  return kind == TypeKind::kDict && ReadAt<int64_t>(object, kDictUsed) > kLargeLength;
}

bool ObjectWalk::VisitNextLarge() {
  if (next_large_ >= large_.size()) return false;
  const uint32_t at = next_large_++;
  const void* const object = large_.object(at);
  current_ = large_.parent(at);
  current_type_ = ReadPointer(object, kObjectType);
  types_.Get(current_type_).traverse(object, ReachFromTraverse, this);
  return true;
}

// The collector does not traverse them.
void ObjectWalk::VisitStaticType(const void* type) {
  for (const size_t field : {kTypeDict, kTypeBases, kTypeMro}) {
    const void* const part = ReadPointer(type, field);
    // From 3.12 on the dict of a builtin type may be elsewhere, and this a small number.
    if (reinterpret_cast<uintptr_t>(part) >= 4096) Reach(part);
  }
}

void ObjectWalk::VisitFrame(const void* frame) {
  const bool is_11 = layout_.minor == 11;
  const void* const code = StackReference(frame, g_interpreter.layout.frame_code);
  Reach(StackReference(frame, is_11 ? 0 : 16));  // function
  Reach(ReadPointer(frame, is_11 ? 24 : 40));    // dict of locals: of a module or the body of a class
  Reach(ReadPointer(frame, is_11 ? 40 : 48));    // frame object
  int64_t top = 0;
  if (layout_.minor <= 13) {
    top = ReadAt<int32_t>(frame, kFrameStackTop);
  } else if (const auto end = ReadAt<uintptr_t>(frame, kFrameStackTop); end != 0) {
    top = static_cast<int64_t>(end - reinterpret_cast<uintptr_t>(frame) - layout_.frame_locals) / 8;
  }
  const auto names = ReadAt<int64_t>(ReadPointer(code, kCodeLocalNames), kObjectSize);
  const int64_t count = top > names ? top : names;
  for (int64_t i = 0; i < count; ++i)
    Reach(StackReference(frame, layout_.frame_locals + 8 * static_cast<size_t>(i)));
}

void ObjectWalk::VisitThread(const void* thread) {
  Reach(ReadPointer(thread, layout_.thread_dict));
  Reach(ReadPointer(thread, layout_.thread_context));
  // Exceptions that are being handled.
  const size_t value = layout_.minor >= 11 ? 0 : 8;
  const size_t previous = layout_.minor >= 11 ? 8 : 24;
  const void* item = ReadPointer(thread, layout_.thread_dict - 8);
  for (int i = 0; item != nullptr && i < kMaxExceptions; item = ReadPointer(item, previous), ++i)
    Reach(ReadPointer(item, value));
}

// False when there is nothing more to look for, or no time.
bool ObjectWalk::WalkGraphs() {
  graphs_.Run(tensors_);
  return targets_.found() != targets_.count() && !IsTimeUp();
}

ObjectWalk::End ObjectWalk::Run() {
  if (!Initialize()) return End::kMemory;
  AddModules(/*of_program=*/true);
  AddFrames(/*of_program=*/true);
  if (WalkOn() && WalkGraphs()) {
    AddModules(/*of_program=*/false);
    AddFrames(/*of_program=*/false);
    AddThreads();
  }
  if (WalkOn()) AddTypes();
  if (WalkOn() && WalkGraphs()) WalkUnreached();
  if (targets_.found() == targets_.count()) return End::kAllFound;
  if (!is_late_ && !is_full_ && !visited_.full() && targets_.AreMissingMuch()) {
    clock_.NotLongerThan(2 * clock_.UsedNs() + kLeastNativeNs);
    SearchNativeMemory(&memory_, &targets_, &clock_);
  }
  if (is_late_) return End::kTime;
  return is_full_ || visited_.full() ? End::kMemory : End::kWalkedAll;
}

}  // namespace plateau::python::holders
