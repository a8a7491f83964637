// Where a new thread begins.
//
// Linux lets it begin on the core of the thread that started it when no other one is idle. In a virtual
// machine a core that sleeps counts as one that the host has taken away, not as idle: so the new thread waits
// behind the one it should relieve, for a millisecond or more, while the other core sleeps on.
#ifndef PLATEAU_ANALYZER_BASE_OTHER_CORE_H_
#define PLATEAU_ANALYZER_BASE_OTHER_CORE_H_

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace plateau {

// Sends a thread to another core than the one this thread runs on, if it may use any. From there the kernel
// moves it as it likes. The thread may have ended, but must not have been joined.
void SendToOtherCore(pthread_t thread);

// Calls `work` with 0 on this thread and with 1 to `threads` - 1 on others, and waits for all of them. Where
// there are no threads to be had, this one does the rest after its own.
void WorkOnThreads(size_t threads, const std::function<void(size_t)>& work);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_OTHER_CORE_H_
