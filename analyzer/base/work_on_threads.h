// Work that several threads share.
#ifndef PLATEAU_ANALYZER_BASE_WORK_ON_THREADS_H_
#define PLATEAU_ANALYZER_BASE_WORK_ON_THREADS_H_

#include <cstddef>
#include <functional>

namespace plateau {

// Calls `work` with 0 on this thread and with 1 to `threads` - 1 on others, and waits for all of them. Where
// no more threads can be made, this one does the rest after its own part.
void WorkOnThreads(size_t threads, const std::function<void(size_t)>& work);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_WORK_ON_THREADS_H_
