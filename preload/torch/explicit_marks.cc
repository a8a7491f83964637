// The other end of plateau/mark.h, and of the Python start-up hook.
//
// Any thread. Allocates: never. errno: unchanged.
#include <errno.h>
#include <string.h>

#include <cstdint>
#include <string_view>

#include "preload/recorder/tracer.h"
#include "preload/torch/stop_iteration.h"

#define PLATEAU_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace plateau {
namespace {

using trace::MarkKind;
using trace::MarkSource;

constexpr size_t kMaxNameBytes = 255;

void Mark(MarkKind kind, MarkSource source, uint64_t value, const char* name) {
  const int saved_errno = errno;
  const size_t bytes = name != nullptr ? strnlen(name, kMaxNameBytes) : 0;
  RecordMark(kind, source, value, {name != nullptr ? name : "", bytes});
  errno = saved_errno;
}

}  // namespace
}  // namespace plateau

using plateau::Mark;
using plateau::trace::MarkKind;
using plateau::trace::MarkSource;

PLATEAU_EXPORT void plateau_mark_step(const char* name) {
  Mark(MarkKind::kExplicitStep, MarkSource::kExplicit, 0, name);
}
PLATEAU_EXPORT void plateau_mark_epoch(const char* name) {
  Mark(MarkKind::kEpoch, MarkSource::kExplicit, 0, name);
}
PLATEAU_EXPORT void plateau_mark_begin(const char* phase) {
  Mark(MarkKind::kPhaseBegin, MarkSource::kExplicit, 0, phase);
}
PLATEAU_EXPORT void plateau_mark_end(const char* phase) {
  Mark(MarkKind::kPhaseEnd, MarkSource::kExplicit, 0, phase);
}
PLATEAU_EXPORT void plateau_mark_note(const char* text) {
  Mark(MarkKind::kNote, MarkSource::kExplicit, 0, text);
}
PLATEAU_EXPORT int plateau_is_recording(void) { return plateau::Enabled() ? 1 : 0; }

// Not public: python/plateau_site calls it by ctypes. `kind` is a trace::MarkKind; others are ignored.
PLATEAU_EXPORT void plateau_site_mark(int kind, uint64_t value, const char* name) {
  if (!plateau::KnowsStopIteration()) (void)plateau::HandledException();  // proves the layout; see there
  switch (static_cast<MarkKind>(kind)) {
    case MarkKind::kStep:
    case MarkKind::kEpoch:
    case MarkKind::kPhaseBegin:
    case MarkKind::kPhaseEnd:
    case MarkKind::kOptimizerBegin:
    case MarkKind::kTrainMode:
    case MarkKind::kNote:
      Mark(static_cast<MarkKind>(kind), MarkSource::kSiteCustomize, value, name);
      return;
    default:
      return;
  }
}

// Not public either: what Python learns about the place of this process in its job, "job:rank" and others that begin so.
PLATEAU_EXPORT void plateau_site_info(const char* key, const char* value) {
  if (key == nullptr || value == nullptr || strncmp(key, "job:", 4) != 0) return;
  const int saved_errno = errno;
  plateau::RecordInfo({key, strnlen(key, plateau::kMaxNameBytes)},
                      {value, strnlen(value, plateau::kMaxNameBytes)});
  errno = saved_errno;
}
