#include "analyzer/replay/heap_replay.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "analyzer/base/progress.h"
#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/event_source.h"
#include "analyzer/replay/heap_accounts.h"
#include "analyzer/replay/heap_matcher.h"

namespace plateau::replay {

ReplayResult ReplayHeap(const reader::TraceReader& reader, const Definitions& definitions,
                        const ReplayOptions& options) {
  EventSource source(reader, options.threads);
  ChangeQueue queue([&] { return source.DecodeAhead(); });
  ReplayResult result;
  // The other thread counts: it takes a moment to begin, and there is nothing to count before that.
  std::thread counting([&] {
    HeapAccounts accounts(reader, &definitions, &options);
    while (const ChangeBatch* batch = queue.Take()) {
      accounts.Apply(*batch);
      queue.Return();
    }
    result = accounts.Finish();
  });
  MatchTotals matched;
  {
    HeapMatcher matcher(reader, &definitions, &options, &queue);
    Progress progress(absl::StrCat("replaying ", reader.path()), definitions.event_count);
    source.ForEachRun([&](const EventRun& run) {
      matcher.Match(run);
      progress.Add(run.end - run.begin);
    });
    matcher.Finish();
    matched = matcher.totals();
  }
  counting.join();
  result.damage = source.damage();
  result.events = matched.events;
  result.unknown_frees = matched.unknown_frees;
  result.late_frees = matched.late_frees;
  result.implied_frees = matched.implied_frees;
  result.live_objects = matched.live_objects;
  result.live_table_bytes = matched.live_table_bytes;
  return result;
}

}  // namespace plateau::replay
