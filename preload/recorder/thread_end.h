// Notices the end of a thread, as late as the C library allows.
//
// A pthread key whose destructor arms itself again runs in the last of PTHREAD_DESTRUCTOR_ITERATIONS rounds,
// after the destructors of thread_local objects and of other keys. Then the thread's slot is given back; what
// the thread still does goes to the buffer that ended threads share.
#ifndef PLATEAU_PRELOAD_RECORDER_THREAD_END_H_
#define PLATEAU_PRELOAD_RECORDER_THREAD_END_H_

#include "preload/recorder/thread_state.h"

namespace plateau {

// Called once, in the constructor: a key that is made early needs no memory per thread.
void PrepareThreadEnd();

// Called when the calling thread gets its buffer.
void WatchThreadEnd(ThreadState& t);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_THREAD_END_H_
