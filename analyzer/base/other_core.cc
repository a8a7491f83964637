#include "analyzer/base/other_core.h"

#include <sched.h>

#include <system_error>
#include <thread>
#include <vector>

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

void WorkOnThreads(size_t threads, const std::function<void(size_t)>& work) {
  std::vector<std::thread> helpers;
  size_t next = 1;
  try {
    for (; next < threads; ++next) {
      helpers.emplace_back(work, next);
      SendToOtherCore(helpers.back().native_handle());
    }
  } catch (const std::system_error&) {  // too many already
  }
  work(0);
  for (; next < threads; ++next) work(next);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace plateau
