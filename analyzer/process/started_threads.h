// Which lines started the threads that still ran when the judged work ended.
#ifndef PLATEAU_ANALYZER_PROCESS_STARTED_THREADS_H_
#define PLATEAU_ANALYZER_PROCESS_STARTED_THREADS_H_

#include <vector>

#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/verdict/evidence_bundle.h"

namespace plateau::process {

// By the number of their threads, the largest first. Threads whose starter is not known are left out.
std::vector<verdict::StartedThreads> ThreadsByStarter(const ProcessTrace& trace, const ProcessSites& sites,
                                                      const ProcessClock& clock);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_STARTED_THREADS_H_
