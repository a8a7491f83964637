// Device events of libplateau_cuda.so and of torch's CUDA caching allocator.
#include "preload/recorder/device_event.h"

#include <cstring>

#include "preload/recorder/device_blocks.h"
#include "preload/recorder/event.h"

extern "C" __attribute__((visibility("default"))) void plateau_device_event(
    const struct plateau_device_event* event) {
  plateau::EventScope scope;
  if (!scope) return;
  const uint32_t stack =
      event->frame == nullptr ? 0 : plateau::StackOf(scope.thread(), plateau::CallerOfFrame(event->frame));
  plateau::trace::DeviceRecord record = {};
  record.op = event->op;
  record.level = event->level;
  record.memory = event->memory;
  record.graph = event->graph != 0;
  record.device = event->device;
  record.address = event->address;
  record.bytes = event->bytes;
  record.handle = event->handle;
  record.total_bytes = event->total_bytes;
  record.reserved_bytes = event->reserved_bytes;
  record.stack = stack;
  if (event->api != nullptr) record.api = event->api;
  plateau::NoteDeviceBlock(*event, stack);
  scope.buffer()->StampTime();
  scope.buffer()->Append([&](plateau::trace::BlockWriter& w) { return w.Device(record); });
}
