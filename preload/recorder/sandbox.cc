#include "preload/recorder/sandbox.h"

#include <string_view>

#include "preload/base/raw_log.h"
#include "preload/recorder/event.h"
#include "preload/recorder/file/slot_pool.h"
#include "preload/recorder/file/trace_sink.h"

namespace plateau {
namespace {

constexpr std::string_view kWords =
    "a seccomp filter of the program forbids system calls that recording needs: what its threads do from "
    "here on is recorded "
    "up to 64 KiB each, the rest is counted; processes that it starts are not recorded";

}  // namespace

void PrepareForSandbox() {
  EventScope scope;
  if (!scope || !g_sink.MayWrite()) return;
  ThreadBuffer* buffer = scope.buffer();
  buffer->StampTime();
  buffer->Append([](trace::BlockWriter& w) { return w.Info("sandbox", kWords); });
  buffer->Flush();
  g_slots.ReserveAll(&g_sink);
  g_sink.RefreshClock();
  RawLog(kWords);
}

}  // namespace plateau
