// What the shim calls of its parts in the life of a process. lifecycle.cc holds the lists; a part that has
// something to do at one of these points adds its function there.
//
//   constructor      StartParts()               after the options are read and the trace is open
//   fork, in child   PartsOnForkChild()         one thread is left, locks may be held by threads that are
//                                               gone: reset state without taking locks; ids start anew, the
//                                               child has its own trace from now on
//   thread end       PartsOnThreadEnd()         last chance to give back what the thread holds
//   once a second    PartsTick()                on the way out of a hook, guard held, no lock held
//   dlclose          PartsOnModulesGone()       after an object was unloaded
//   process end      PartsAtEnd()               last chance to record something; no guard held
//
// Allocates: never.
#ifndef PLATEAU_PRELOAD_RECORDER_LIFECYCLE_H_
#define PLATEAU_PRELOAD_RECORDER_LIFECYCLE_H_

namespace plateau {

void StartParts();
void PartsOnForkChild();
void PartsOnThreadEnd();
void PartsTick();
void PartsOnModulesGone();
void PartsAtEnd();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_LIFECYCLE_H_
