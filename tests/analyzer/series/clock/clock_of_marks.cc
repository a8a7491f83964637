// Reads marks as text (see tests/preload/torch/mark_recorder.cc) from stdin and prints the step clock as one
// JSON object.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "analyzer/series/clock/step_clock.h"

int main() {
  using namespace plateau;
  series::MarkLog log;
  char line[4096];
  uint64_t first = 0;
  uint64_t last = 0;
  while (fgets(line, sizeof(line), stdin) != nullptr) {
    uint64_t time = 0;
    uint64_t value = 0;
    uint32_t thread = 0;
    int kind = 0;
    int source = 0;
    int name_at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "M %" SCNu64 " %" SCNu32 " %d %d %" SCNu64 " %n", &time, &thread, &kind, &source, &value,
               &name_at) < 5) {
      continue;
    }
    const char* name = name_at > 0 ? line + name_at : "";
    log.Add(time, thread, static_cast<trace::MarkKind>(kind), static_cast<trace::MarkSource>(source), value,
            name);
    if (first == 0) first = time;
    last = time;
  }
  log.Finish();
  const series::StepClock clock = series::StepClock::Build(log, {.begin_time = first, .end_time = last + 1});
  printf(
      "{\"steps\": %u, \"epochs\": %u, \"evaluations\": %zu, \"checkpoints\": %zu, \"skipped\": %u, "
      "\"steps_per_epoch\": %.3f, \"source\": \"%s\", \"confidence\": \"%s\", \"sentence\": \"%s\"}\n",
      clock.step_count(), clock.complete_epochs(), clock.evaluations().size(), clock.checkpoints().size(),
      clock.skipped_steps(), clock.steps_per_epoch(), std::string(StepSourceName(clock.source())).c_str(),
      std::string(ConfidenceName(clock.confidence())).c_str(), clock.sentence().c_str());
  return 0;
}
