// The recording of a program that is about to lock itself in (seccomp).
//
// Threads: any. Allocates: never from the traced heap. errno is not touched.
#ifndef PLATEAU_PRELOAD_RECORDER_SANDBOX_H_
#define PLATEAU_PRELOAD_RECORDER_SANDBOX_H_

namespace plateau {

// While our system calls still count: writes the calling thread's block out, gives all slots their space, and says
// once on stderr and in the trace what is going to happen. Afterwards each thread has one slot, 64 KiB, for what it still
// does; what does not fit is counted as DropReason::kSandbox.
void PrepareForSandbox();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_SANDBOX_H_
