#include "analyzer/base/work_on_threads.h"

#include <system_error>
#include <thread>
#include <vector>

namespace plateau {

void WorkOnThreads(size_t threads, const std::function<void(size_t)>& work) {
  std::vector<std::thread> helpers;
  size_t next = 1;
  try {
    for (; next < threads; ++next) helpers.emplace_back(work, next);
  } catch (const std::system_error&) {  // the system gives no more threads
  }
  work(0);
  for (; next < threads; ++next) work(next);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace plateau
