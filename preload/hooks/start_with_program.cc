// The constructor of libplateau.so: recording begins before the program does.
//
// Opened by dlopen() the library stands in front of nothing: every name is bound already. It then says so and records
// nothing; `plateau attach` is for programs that run.
#include <errno.h>
#include <link.h>

#include "preload/base/elf_view.h"
#include "preload/base/fixed_text.h"
#include "preload/base/module_walk.h"
#include "preload/base/options.h"
#include "preload/base/raw_log.h"
#include "preload/hooks/signal_hooks.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/recording.h"

namespace plateau {
namespace {

extern "C" char** environ;

struct FirstDefinition {
  const char* name;
  bool is_ours;
};

int FindFirst(dl_phdr_info* info, size_t, void* data) {
  auto* const first = static_cast<FirstDefinition*>(data);
  const ElfView object(*info);
  if (object.FindFunction(first->name) == nullptr) return 0;
  first->is_ours = object.Contains(reinterpret_cast<const void*>(&FindFirst));
  return 1;
}

// A program that brings a malloc of its own still has our mmap, so one name is enough.
bool StandsInFront() {
  const int saved_errno = errno;
  bool stands = false;
  for (const char* name : {"malloc", "mmap", "_exit"}) {
    FirstDefinition first = {name, false};
    WalkModules(FindFirst, &first);
    stands |= first.is_ours;
  }
  errno = saved_errno;
  return stands;
}

[[gnu::constructor(101)]] void AtStart() {
  if (!StandsInFront()) {
    StayOut(environ,
            "libplateau.so was opened while the program ran: its calls are bound to other functions already, "
            "and nothing is "
            "recorded. Start it with `plateau run` or LD_PRELOAD, or use `plateau attach PID`");
    return;
  }
  StartProcess(environ);
  if (g_gate.live.load(std::memory_order_relaxed) == 1 && g_sink.shared()) GuardMappedTrace();
}

}  // namespace
}  // namespace plateau
