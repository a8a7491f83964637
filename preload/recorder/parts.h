// The parts of the shim that know more than malloc does (Python, torch), as the recorder sees them: a table
// of callbacks for each. The recorder includes no part; a part includes the recorder and describes itself as
// a Part; hooks/parts.cc lists the parts that libplateau.so is made of.
//
//   when              callback               what holds at that moment
//   constructor       start                  the options are read, the trace is open, the guard is held
//   fork, in child    on_fork_child          one thread is left, and a lock may be held by a thread that is
//                                            gone: a part resets its state without taking locks. Ids begin
//                                            anew, because the child writes a trace of its own
//   thread end        on_thread_end          the last chance to give back what the thread holds
//   once a second,    on_tick                on the way out of a hook, guard held, no lock held
//   and at marks
//   dlclose()         before_modules_go      before the real call, no guard held
//                     after_modules_went     after it, guard held
//   process end       at_end                 the last chance to record something, no guard held
//   detach            on_detach              a part takes its hooks out of the program, guard held; the recording
//                                            still runs. Calls that are under way pass through afterwards
//   attach again      on_attach_again        as on_fork_child, but the program's threads live: none is inside a
//                                            hook, and no part may assume to be alone. `start` follows
//
// A part that has nothing to do at a moment leaves its callback null. Callbacks are called in the order of
// the table. They never allocate from the traced heap and never throw.
#ifndef PLATEAU_PRELOAD_RECORDER_PARTS_H_
#define PLATEAU_PRELOAD_RECORDER_PARTS_H_

#include <cstddef>

namespace plateau {

struct Part {
  void (*start)() = nullptr;
  void (*on_fork_child)() = nullptr;
  void (*on_thread_end)() = nullptr;
  void (*on_tick)() = nullptr;
  void (*before_modules_go)() = nullptr;
  void (*after_modules_went)() = nullptr;
  void (*at_end)() = nullptr;
  void (*on_detach)() = nullptr;
  void (*on_attach_again)() = nullptr;
};

// The table. Whoever links the recorder defines it, constant-initialised, because the first malloc may come
// before any constructor has run.
extern const Part* const kParts[];
extern const size_t kPartCount;

// Calls one callback of every part: CallParts(&Part::on_tick).
inline void CallParts(void (*Part::*callback)()) {
  for (size_t i = 0; i < kPartCount; ++i) {
    if (kParts[i]->*callback != nullptr) (kParts[i]->*callback)();
  }
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_PARTS_H_
