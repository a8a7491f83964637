#include "preload/python/holders/garbage_cycle.h"

namespace plateau::python::holders {

int GarbageCycle::Reach(void* child, void* context) {
  auto* const self = static_cast<GarbageCycle*>(context);
  if (self->is_closed_ || child == self->type_) return 0;
  if (child == self->steps_[0].object) {
    self->is_closed_ = true;
    return 0;
  }
  const TypeInfo& info = self->walk_.types().Of(child);
  if (info.traverse == nullptr || info.kind == TypeKind::kType || info.kind == TypeKind::kModule) return 0;
  if (self->count_ == kMaxObjects) return 0;
  for (size_t i = 0; i < self->count_; ++i) {
    if (self->steps_[i].object == child) return 0;
  }
  self->steps_[self->count_++] = {child, static_cast<uint32_t>(self->current_)};
  return 0;
}

bool GarbageCycle::Find(const void* object) {
  if (steps_ == nullptr) {
    steps_ = memory_.TakeArray<Step>(kMaxObjects);
    cycle_ = memory_.TakeArray<const void*>(kMaxCycle);
  }
  size_ = 0;
  if (steps_ == nullptr || cycle_ == nullptr) return false;
  steps_[0] = {object, 0};
  count_ = 1;
  is_closed_ = false;
  for (current_ = 0; current_ < count_ && !is_closed_; ++current_) {
    const void* const now = steps_[current_].object;
    const TypeInfo& info = walk_.types().Of(now);
    if (info.traverse == nullptr) continue;
    type_ = info.type;
    info.traverse(now, Reach, this);
  }
  if (!is_closed_) return false;
  size_t depth = 1;
  for (size_t at = current_ - 1; at != 0; at = steps_[at].parent) ++depth;
  if (depth + 1 > kMaxCycle) return false;
  size_ = depth + 1;
  size_t at = current_ - 1;
  for (size_t i = depth; i > 0; --i, at = steps_[at].parent) cycle_[i - 1] = steps_[at].object;
  cycle_[depth] = object;
  return true;
}

}  // namespace plateau::python::holders
