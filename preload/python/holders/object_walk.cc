#include "preload/python/holders/object_walk.h"

#include <cstring>

#include "preload/python/holders/native_search.h"
#include "preload/python/interpreter.h"
#include "preload/python/text.h"

namespace plateau::python::holders {
namespace {

constexpr uint32_t kPrefetchAhead = 12;
constexpr uint32_t kVisitsPerCheck = 1024;
constexpr int64_t kLargeLength = 1 << 14;
constexpr int kMaxThreads = 4096;
constexpr int kMaxFrames = 20000;
constexpr uint8_t kFirstShimOwner = 3;
constexpr uint64_t kLeastNativeNs = 20'000'000;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool IsPathOfProgram(std::string_view path) {
  return !path.empty() && path[0] != '<' && !Contains(path, "/site-packages/") &&
         !Contains(path, "/dist-packages/") && !Contains(path, "/lib/python3") &&
         !Contains(path, "/plateau_trace/");
}

bool IsImportMachinery(const void* code) {
  char bytes[128];
  return Contains(
      TextOf(g_interpreter.layout, ReadPointer(code, g_interpreter.layout.code_file), bytes, sizeof(bytes)),
      "importlib._bootstrap");
}

bool ObjectWalk::Initialize() {
  modules_ = memory_.TakeArray<Module>(kMaxModules);
  return modules_ != nullptr && types_.Initialize() && visited_.Initialize() && nodes_.Initialize() &&
         types_met_.Initialize() && tensors_.Initialize() && large_.Initialize() && CollectModules();
}

// ---- Roots ----

bool ObjectWalk::IsModuleOfProgram(const void* dict) const {
  ptrdiff_t position = 0;
  void *key = nullptr, *value = nullptr;
  bool is_main = false;
  while (functions_.dict_next(const_cast<void*>(dict), &position, &key, &value) != 0) {
    if ((ReadAt<uint64_t>(ReadPointer(key, kObjectType), kTypeFlags) & kTextFlag) == 0) continue;
    if ((ReadAt<uint64_t>(ReadPointer(value, kObjectType), kTypeFlags) & kTextFlag) == 0) continue;
    char key_bytes[16], bytes[512];
    const std::string_view name = TextOf(g_interpreter.layout, key, key_bytes, sizeof(key_bytes));
    if (name == "__name__") is_main = TextOf(g_interpreter.layout, value, bytes, sizeof(bytes)) == "__main__";
    if (is_main) return true;
    if (name == "__file__") return IsPathOfProgram(TextOf(g_interpreter.layout, value, bytes, sizeof(bytes)));
  }
  return false;
}

bool ObjectWalk::CollectModules() {
  void* const all = functions_.module_dict();
  if (all == nullptr) return false;
  visited_.Insert(reinterpret_cast<uintptr_t>(all));
  ptrdiff_t position = 0;
  void *key = nullptr, *module = nullptr;
  while (functions_.dict_next(all, &position, &key, &module) != 0 && module_count_ < kMaxModules) {
    if (types_.Of(module).kind != TypeKind::kModule) continue;
    const void* const dict = ReadPointer(module, kModuleDict);
    if (dict == nullptr || !visited_.Insert(reinterpret_cast<uintptr_t>(module))) continue;
    visited_.Insert(reinterpret_cast<uintptr_t>(dict));
    modules_[module_count_++] = {module, dict, IsModuleOfProgram(dict)};
  }
  return true;
}

uint32_t ObjectWalk::AddPart(WalkPart part) {
  nodes_.Append(static_cast<uintptr_t>(part) << 3 | static_cast<uintptr_t>(NodeTag::kPart), 0);
  return nodes_.size() - 1;
}

void ObjectWalk::AddModules(bool of_program) {
  const uint32_t part = AddPart(WalkPart::kModules);
  for (size_t i = 0; i < module_count_; ++i) {
    if (modules_[i].is_of_program != of_program) continue;
    if (!nodes_.Append(reinterpret_cast<uintptr_t>(modules_[i].module), part)) return;
    nodes_.Append(reinterpret_cast<uintptr_t>(modules_[i].dict), nodes_.size() - 1);
  }
}

bool ObjectWalk::IsCodeOfProgram(const void* code) const {
  char bytes[512];
  return IsPathOfProgram(
      TextOf(g_interpreter.layout, ReadPointer(code, g_interpreter.layout.code_file), bytes, sizeof(bytes)));
}

const void* ObjectWalk::FirstFrame(const void* thread) const {
  const Layout& layout = g_interpreter.layout;
  const void* frame = ReadPointer(thread, layout.tstate_frame);
  if (layout.root == FrameRoot::kCFrame && frame != nullptr) frame = ReadPointer(frame, layout.cframe_frame);
  return frame;
}

void ObjectWalk::AddFramesOf(const void* thread, bool of_program) {
  const Layout& layout = g_interpreter.layout;
  const bool are_objects = layout_.minor <= 10;
  const void* frame = FirstFrame(thread);
  for (int i = 0; frame != nullptr && i < kMaxFrames;
       frame = ReadPointer(frame, layout.frame_previous), ++i) {
    if (layout_.minor >= 12 && ReadAt<uint8_t>(frame, layout.frame_owner) >= kFirstShimOwner) continue;
    const void* const code = ReadPointer(frame, layout.frame_code);
    if (code == nullptr || ReadPointer(code, kObjectType) != g_interpreter.code_type) return;
    // Frames lead to one another; each is a root of its own.
    const auto word = reinterpret_cast<uintptr_t>(frame);
    visited_.Insert(word);
    if (IsCodeOfProgram(code) != of_program) continue;
    const uintptr_t tag = are_objects ? 0 : static_cast<uintptr_t>(NodeTag::kFrame);
    if (!nodes_.Append(word | tag, AddPart(WalkPart::kThreads))) return;
  }
}

void ObjectWalk::AddFrames(bool of_program) {
  const void* thread = functions_.first_thread(functions_.main_interpreter());
  // The newest thread is first in the list; the main thread, last.
  const void* threads[64];
  int count = 0;
  for (int i = 0; thread != nullptr && i < kMaxThreads; thread = ReadPointer(thread, kThreadNext), ++i) {
    if (count < 64) threads[count++] = thread;
    if (count == 64) AddFramesOf(thread, of_program);
  }
  while (count > 0) AddFramesOf(threads[--count], of_program);
}

void ObjectWalk::AddThreads() {
  const void* thread = functions_.first_thread(functions_.main_interpreter());
  for (int i = 0; thread != nullptr && i < kMaxThreads; thread = ReadPointer(thread, kThreadNext), ++i) {
    nodes_.Append(reinterpret_cast<uintptr_t>(thread) | static_cast<uintptr_t>(NodeTag::kThread),
                  AddPart(WalkPart::kThreads));
  }
}

void ObjectWalk::AddTypes() {
  defers_types_ = false;
  for (uint32_t i = 1; i < types_met_.size(); ++i) AddRoot(types_met_.word(i), types_met_.parent(i));
}

// ---- The walk ----

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
  const void* const code = ReadPointer(frame, g_interpreter.layout.frame_code);
  Reach(ReadPointer(frame, is_11 ? 0 : 16));   // function
  Reach(ReadPointer(frame, is_11 ? 24 : 40));  // dict of locals: of a module or the body of a class
  Reach(ReadPointer(frame, is_11 ? 40 : 48));  // frame object
  const int32_t top = ReadAt<int32_t>(frame, kFrameStackTop);
  const auto names = ReadAt<int64_t>(ReadPointer(code, kCodeLocalNames), kObjectSize);
  const int64_t count = top > names ? top : names;
  for (int64_t i = 0; i < count; ++i)
    Reach(ReadPointer(frame, layout_.frame_locals + 8 * static_cast<size_t>(i)));
}

void ObjectWalk::VisitThread(const void* thread) {
  Reach(ReadPointer(thread, layout_.thread_dict));
  Reach(ReadPointer(thread, layout_.thread_context));
  // Exceptions that are being handled.
  const size_t value = layout_.minor >= 11 ? 0 : 8;
  const size_t previous = layout_.minor >= 11 ? 8 : 24;
  const void* item = ReadPointer(thread, layout_.thread_dict - 8);
  for (int i = 0; item != nullptr && i < kMaxFrames; item = ReadPointer(item, previous), ++i)
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

// ---- What nobody reached ----

ObjectWalk::Unreached* ObjectWalk::FindUnreached(uintptr_t object) {
  for (size_t at = (object >> 4) * 0x9e3779b97f4a7c15u >> 20 & (unreached_slots_ - 1);;
       at = (at + 1) & (unreached_slots_ - 1)) {
    if (unreached_[at].object == object || unreached_[at].object == 0) return &unreached_[at];
  }
}

int ObjectWalk::CountReference(void* child, void* context) {
  auto* const walk = static_cast<ObjectWalk*>(context);
  Unreached* const entry = walk->FindUnreached(reinterpret_cast<uintptr_t>(child));
  if (entry->object != 0) --entry->references;
  return 0;
}

void ObjectWalk::WalkUnreached() {
  CollectorState collector;
  if (!FindCollector(layout_, functions_, &collector) || *collector.collecting != 0) return;
  constexpr size_t kGcHeader = 16;
  size_t count = 0;
  for (int list = 0; list < 4; ++list) {
    const void* const head = collector.generations[list];
    for (const void* gc = ReadPointer(head, 0); gc != head; gc = ReadPointer(gc, 0)) {
      const auto object = reinterpret_cast<uintptr_t>(gc) + kGcHeader;
      __builtin_prefetch(ReadPointer(gc, 0));
      if (list == 3) ++frozen_objects_;
      if (!visited_.Contains(object)) ++count;
      if ((count & (kVisitsPerCheck - 1)) == 1 && IsTimeUp()) return;
    }
  }
  unreached_slots_ = 1024;
  while (unreached_slots_ < 2 * count) unreached_slots_ *= 2;
  unreached_ = memory_.TakeArray<Unreached>(unreached_slots_);
  auto* const order = memory_.TakeArray<uintptr_t>(count + 1);
  if (unreached_ == nullptr || order == nullptr) {
    is_full_ = true;
    return;
  }
  size_t filled = 0;
  for (const void* head : collector.generations) {
    for (const void* gc = ReadPointer(head, 0); gc != head && filled < count; gc = ReadPointer(gc, 0)) {
      const auto object = reinterpret_cast<uintptr_t>(gc) + kGcHeader;
      if (visited_.Contains(object)) continue;
      *FindUnreached(object) = {object, ReadAt<int64_t>(reinterpret_cast<const void*>(object), 0)};
      order[filled++] = object;
    }
  }
  for (size_t i = 0; i < filled; ++i) {
    if ((i & (kVisitsPerCheck - 1)) == 0 && IsTimeUp()) return;
    const auto* object = reinterpret_cast<const void*>(order[i]);
    const TypeInfo& info = types_.Of(object);
    if (info.traverse != nullptr) info.traverse(object, CountReference, this);
  }
  // References from elsewhere: C and C++, machine registers, stacks.
  uint32_t part = AddPart(WalkPart::kNative);
  first_native_ = part;
  for (size_t i = 0; i < filled; ++i) {
    if (FindUnreached(order[i])->references > 0) AddRoot(order[i], part);
  }
  if (!WalkOn()) return;
  part = AddPart(WalkPart::kGarbage);
  first_garbage_ = part;
  for (size_t i = 0; i < filled; ++i) {
    if (visited_.Contains(order[i])) continue;
    ++garbage_objects_;
    // One after the other, so that each chain begins where nobody else leads to, if there is such a place.
    AddRoot(order[i], part);
    if (!WalkOn()) return;
  }
}

}  // namespace plateau::python::holders
