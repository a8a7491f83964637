#include "analyzer/report/builder/sampling_notes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "preload/trace/mark_groups.h"

namespace plateau::report {
namespace {

using process::ProcessAnalysis;

void AddPythonSampling(const ProcessAnalysis& process, RecordingInfo* recording,
                       std::vector<std::string>* notes) {
  const trace::FileHeader& header = process.trace.reader->header();
  if (!process.rows.has_pool[static_cast<size_t>(replay::Pool::kPython)] || header.python_sample_bytes == 0)
    return;
  if (IsExact(header) && recording->python_sample_bytes == 0) {
    notes->push_back(absl::StrCat("Python's small objects were sampled every ",
                                  FormatBytes(header.python_sample_bytes),
                                  "; --python-alloc=exact records each of them"));
  }
  recording->python_sample_bytes = std::max(recording->python_sample_bytes, header.python_sample_bytes);
}

// Keeps the earliest moment of several traces.
void KeepFirst(double seconds, std::optional<double>* first) {
  *first = std::min(first->value_or(seconds), seconds);
}

// Says when a trace that had recorded every event began to sample.
void AddEndOfExactness(const ProcessAnalysis& process, RecordingInfo* recording,
                       std::vector<std::string>* notes) {
  const auto& rates = process.trace.definitions.rates;
  const auto change = std::find_if(rates.begin(), rates.end(), [](const replay::TimedRate& timed) {
    return timed.rate.mode != trace::Mode::kExact;
  });
  if (change == rates.end()) return;
  const double seconds = process.trace.Seconds(change->tsc);
  notes->push_back(
      absl::StrFormat("%s: every event was recorded until %.3g s, then small requests were sampled to keep "
                      "the size limit, last period %s",
                      process.trace.reader->path(), seconds, FormatBytes(rates.back().rate.sample_bytes)));
  KeepFirst(seconds, &recording->sampled_from_seconds);
}

// The same for default mode with --python-alloc=exact.
void AddEndOfEachPythonObject(const ProcessAnalysis& process, std::vector<std::string>* notes) {
  if (!process.rows.has_pool[static_cast<size_t>(replay::Pool::kPython)] ||
      process.trace.reader->header().python_sample_bytes != 0)
    return;
  const replay::TimedRate& first = process.trace.definitions.rates.front();
  notes->push_back(
      absl::StrFormat("%s: each of Python's small objects was recorded until %.3g s, then they were "
                      "sampled like the others",
                      process.trace.reader->path(), process.trace.Seconds(first.tsc)));
}

// Where a program allocates little, its requests are sampled denser than the header says.
bool IsCoarser(const trace::RateRecord& rate, const trace::FileHeader& header) {
  return rate.mode != trace::Mode::kDefault || rate.sample_bytes > header.sample_bytes ||
         rate.exact_from_bytes > header.exact_from_bytes;
}

// Says what was done to keep the size limit.
void AddLimitNotes(const ProcessAnalysis& process, RecordingInfo* recording,
                   std::vector<std::string>* notes) {
  if (process.memory.heap.folded_events > 0) {
    notes->push_back(absl::StrCat(process.trace.reader->path(), ": ", process.memory.heap.folded_events,
                                  " events were folded into sums to keep the size limit"));
  }
  if (const replay::LeftOutMarks& marks = process.trace.definitions.left_out_marks; marks.groups > 0) {
    notes->push_back(absl::StrCat(
        process.trace.reader->path(), ": marks of ", marks.groups, " groups of ", trace::kStepsOfAGroup,
        " steps were left out to keep the size limit; their steps are drawn at equal distances",
        marks.groups_drawn < marks.groups
            ? absl::StrCat(", but for ", marks.groups - marks.groups_drawn, " that are too many to draw")
            : ""));
  }
  if (!process.trace.definitions.rates.empty()) {
    const replay::TimedRate& last = process.trace.definitions.rates.back();
    if (IsExact(process.trace.reader->header())) {
      AddEndOfExactness(process, recording, notes);
    } else {
      if (IsCoarser(last.rate, process.trace.reader->header())) {
        notes->push_back(absl::StrCat(process.trace.reader->path(),
                                      ": sampling was made coarser to keep the size limit, last period ",
                                      FormatBytes(last.rate.sample_bytes)));
        AddEndOfEachPythonObject(process, notes);
      }
    }
    if (last.rate.mode == trace::Mode::kFolded) {
      notes->push_back(
          absl::StrFormat("%s: from %.3g s on the recording holds totals of each site instead of events, "
                          "to keep the size limit",
                          process.trace.reader->path(), process.trace.Seconds(last.tsc)));
      KeepFirst(process.trace.Seconds(last.tsc), &recording->totals_only_from_seconds);
    }
    if (last.rate.mode == trace::Mode::kOff) {
      notes->push_back(absl::StrFormat(
          "%s: the size limit was reached after %.0f s; later allocations are in the totals only",
          process.trace.reader->path(), process.trace.Seconds(last.tsc)));
    }
  }
}

}  // namespace

bool IsExact(const trace::FileHeader& header) {
  return header.mode == static_cast<uint8_t>(trace::Mode::kExact);
}

void AddSamplingNotes(const ProcessAnalysis& process, RecordingInfo* recording,
                      std::vector<std::string>* notes) {
  AddPythonSampling(process, recording, notes);
  AddLimitNotes(process, recording, notes);
}

}  // namespace plateau::report
