// Objects that the collector knows and no root leads to: held from C, or garbage.
#include "preload/python/holders/object_walk.h"

namespace plateau::python::holders {
namespace {

constexpr uint32_t kVisitsPerCheck = 1024;

}  // namespace

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
    for (const void* gc = NextInList(head); gc != head; gc = NextInList(gc)) {
      const auto object = reinterpret_cast<uintptr_t>(gc) + kGcHeader;
      __builtin_prefetch(NextInList(gc));
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
  size_t filled = 0, frozen_from = 0;
  for (const void* head : collector.generations) {
    if (head == collector.generations[3]) frozen_from = filled;
    for (const void* gc = NextInList(head); gc != head && filled < count; gc = NextInList(gc)) {
      const auto object = reinterpret_cast<uintptr_t>(gc) + kGcHeader;
      if (visited_.Contains(object)) continue;
      *FindUnreached(object) = {object, ReferencesOf(layout_, reinterpret_cast<const void*>(object))};
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
    if (i == frozen_from) {
      part = AddPart(WalkPart::kGarbage);
      first_frozen_ = part;
    }
    if (visited_.Contains(order[i])) continue;
    if (i < frozen_from) ++garbage_objects_;
    // One after the other, so that each chain begins where nobody else leads to, if there is such a place.
    AddRoot(order[i], part);
    if (!WalkOn()) return;
  }
}

}  // namespace plateau::python::holders
