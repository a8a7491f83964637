// Where a walk begins: modules, frames, threads, classes, and which of them are the program's own.
#include "preload/python/holders/object_walk.h"
#include "preload/python/interpreter.h"
#include "preload/python/text.h"

namespace plateau::python::holders {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int kMaxFrames = 20000;
constexpr uint8_t kFirstShimOwner = 3;

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
    const void* const code = StackReference(frame, layout.frame_code);
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

}  // namespace plateau::python::holders
