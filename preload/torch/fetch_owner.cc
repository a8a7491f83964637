#include "preload/torch/fetch_owner.h"

#include <cstdint>
#include <cstring>

#include "preload/torch/thread_view.h"

namespace plateau {
namespace {

constexpr int kMostFrames = 16;         // between the range and __next__ there are two or three
constexpr uint8_t kFirstShimOwner = 3;  // this and above: an eval loop's own frame, no code of anybody

bool HasArguments(const ThreadLayout& layout, const void* code) {
  if (code == nullptr) return false;
  const char* class_name = ClassNameOf(code);
  if (class_name == nullptr || strcmp(class_name, "code") != 0) return false;
  int32_t count;
  memcpy(&count, static_cast<const char*>(code) + layout.code_argument_count, sizeof(count));
  return count > 0;
}

}  // namespace

const void* FetchOwner(std::string_view class_name) {
  const ThreadView view = ViewThread();
  if (view.state == nullptr) return nullptr;
  const ThreadLayout& layout = *view.layout;
  const void* frame = ReadPointerAt(view.state, layout.frame);
  if (layout.cframe_frame != kNoOffset && frame != nullptr) frame = ReadPointerAt(frame, layout.cframe_frame);
  for (int i = 0; i < kMostFrames && frame != nullptr; ++i) {
    const bool is_shim = layout.frame_owner != kNoOffset &&
                         static_cast<const uint8_t*>(frame)[layout.frame_owner] >= kFirstShimOwner;
    if (!is_shim && HasArguments(layout, ReadPointerAt(frame, layout.frame_code))) {
      // The first local is the first argument: null after `del`, a cell when a closure uses it.
      const void* self = ReadPointerAt(frame, layout.frame_locals);
      const char* name = self != nullptr ? ClassNameOf(self) : nullptr;
      if (name != nullptr && class_name == name) return self;
    }
    frame = ReadPointerAt(frame, layout.frame_previous);
  }
  return nullptr;
}

}  // namespace plateau
