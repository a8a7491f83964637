// How much of a run was recorded. An environment that is made anew (`env -i`), an LD_PRELOAD that is written over or a
// static program loses the recorder, and what is left is the trace of a shell's first millisecond.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_RECORDED_TIME_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_RECORDED_TIME_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/reader/recording.h"

namespace plateau::cli {

// CLOCK_MONOTONIC in nanoseconds, as the headers of traces have it.
uint64_t MonotonicNs();

// Nanoseconds of [begin, end) that at least one of the spans covers.
uint64_t CoveredNs(std::vector<std::pair<uint64_t, uint64_t>> spans, uint64_t begin, uint64_t end);

// "only 0.00 s of 12.0 s were recorded: ...", when the processes of a recording lived less than a tenth of the run from
// `begin_ns` to `end_ns`; empty when they did not, or when the run was shorter than a second.
std::string LostTime(const reader::Recording& recording, uint64_t begin_ns, uint64_t end_ns);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_RECORDED_TIME_H_
