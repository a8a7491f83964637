#include "preload/recorder/thread_end.h"

#include <limits.h>
#include <pthread.h>

#include <cstdint>

#include "preload/base/old_glibc.h"
#include "preload/recorder/parts.h"
#include "preload/recorder/recording.h"
#include "preload/recorder/thread_buffer.h"

namespace plateau {
namespace {

constinit pthread_key_t g_key = 0;
constinit bool g_has_key = false;

void OnKeyDestructor(void* round) {
  const uintptr_t rounds_done = reinterpret_cast<uintptr_t>(round);
  ThreadState& t = t_thread;
  // A child of fork() keeps the keys of the thread that made it, but not the buffer.
  if (t.ended) return;
  if (rounds_done < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(rounds_done + 1));
    return;
  }
  const HookScope scope(t);
  const OwnCallScope own(t);
  if (scope && g_gate.live.load(std::memory_order_relaxed) == 1 && t.buffer != nullptr) {
    CallParts(&Part::on_thread_end);
    t.buffer->StampTime();
    t.buffer->Append([](trace::BlockWriter& w) { return w.ThreadEnd(); });
    ThreadBuffer::Release(t.buffer);
    t.buffer = nullptr;
    t.slot_totals = nullptr;
    t.bytes_until_sample = -1;
    t.ended = true;
  }
}

}  // namespace

void PrepareThreadEnd() { g_has_key = pthread_key_create(&g_key, OnKeyDestructor) == 0; }

void WatchThreadEnd(ThreadState& t) {
  if (!g_has_key) return;
  const OwnCallScope own(t);
  pthread_setspecific(g_key, reinterpret_cast<void*>(1));
}

}  // namespace plateau
