#include "preload/recorder/device_blocks.h"

#include <type_traits>

namespace plateau {

constinit SampleSet g_device_blocks;
static_assert(std::is_trivially_destructible_v<SampleSet>);

void NoteDeviceBlock(const struct plateau_device_event& event, uint32_t stack) {
  SampledBlock before;
  if (event.op == PLATEAU_DEVICE_FREE) {
    g_device_blocks.Erase(event.address, &before);
    return;
  }
  const bool has_address = event.memory == PLATEAU_MEMORY_DEVICE || event.memory == PLATEAU_MEMORY_PINNED ||
                           event.memory == PLATEAU_MEMORY_MANAGED || event.memory == PLATEAU_MEMORY_ASYNC;
  if (event.op != PLATEAU_DEVICE_ALLOC || !has_address || event.graph != 0 || stack == 0) return;
  g_device_blocks.Insert(event.address, {event.bytes, stack, 0});
}

}  // namespace plateau
