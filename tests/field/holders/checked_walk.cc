// The walk alone, for a process under AddressSanitizer: the caller says which addresses to look for.
//
// The shim cannot be loaded there, because both replace malloc; asan.sh builds this instead of it.
#include <cstdint>
#include <memory>

#include "preload/base/clock.h"
#include "preload/python/holders/holder_report.h"
#include "preload/python/holders/object_walk.h"
#include "preload/python/holders/path_namer.h"
#include "preload/python/holders/tables/heap_layout.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/interpreter.h"
#include "preload/recorder/parts.h"

namespace plateau {
constinit const Part kNoPart = {};
constinit const Part* const kParts[] = {&kNoPart};
constinit const size_t kPartCount = 1;
}  // namespace plateau

namespace plateau::python::holders {
namespace {

struct Counts {
  uint64_t records;
  uint64_t named;
};

void Count(void* context, const trace::HolderRecord& record) {
  auto* const counts = static_cast<Counts*>(context);
  ++counts->records;
  if (record.path.size() > 0) counts->named += record.targets_found;
}

int Walk(const uint64_t* addresses, size_t count, uint64_t limit_ns, uint64_t* objects, uint64_t* named) {
  StartClock();
  NoticeModules();
  HeapLayout layout;
  HeapFunctions functions;
  if (!Ready() || FindHeapLayout(&layout, &functions) != nullptr) return -1;
  WalkMemory memory(uint64_t{1} << 30);
  auto* const targets = memory.TakeArray<TargetTable>(1);
  WalkClock clock;
  clock.SetLimit(limit_ns);
  // Sixteen stacks, so that each has some chains.
  for (size_t i = 0; i < count; ++i) targets->Add(addresses[i], 100, static_cast<uint32_t>(i % 16 + 1));
  ObjectWalk walk(layout, functions, &memory, targets, &clock);
  walk.Run();
  PathNamer namer(layout, functions, walk.nodes(), &walk.types());
  Counts counts = {};
  HolderReport(&walk, targets, &namer, &memory).Write(1, {&counts, Count});
  *objects = walk.nodes().size();
  *named = counts.named;
  return static_cast<int>(targets->found());
}

}  // namespace
}  // namespace plateau::python::holders

// Call with the interpreter's lock. How many of the addresses were found; -1 when this interpreter is refused.
extern "C" __attribute__((visibility("default"))) int checked_walk(const uint64_t* addresses, uint64_t count,
                                                                   uint64_t limit_ns, uint64_t* objects,
                                                                   uint64_t* named) {
  return plateau::python::holders::Walk(addresses, count, limit_ns, objects, named);
}
