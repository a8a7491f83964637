#include "analyzer/base/other_core.h"

#include <sched.h>

namespace plateau {

void SendToOtherCore(pthread_t thread) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;  // more cores than it has room for
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  cpu_set_t others = allowed;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0) return;
  pthread_setaffinity_np(thread, sizeof(others), &others);
  pthread_setaffinity_np(thread, sizeof(allowed), &allowed);
}

}  // namespace plateau
