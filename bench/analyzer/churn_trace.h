// A trace to measure the analyzer with: one thread that allocates and frees, with a number of objects alive.
#ifndef PLATEAU_BENCH_ANALYZER_CHURN_TRACE_H_
#define PLATEAU_BENCH_ANALYZER_CHURN_TRACE_H_

#include <cstddef>
#include <string>

namespace plateau::bench {

// The path of a trace with 2 * `pairs` events, made on the first call. `live` objects exist at a time; each
// allocation replaces one of them at random. The file is removed at the end of the program.
std::string ChurnTrace(size_t pairs, size_t live);

}  // namespace plateau::bench

#endif  // PLATEAU_BENCH_ANALYZER_CHURN_TRACE_H_
