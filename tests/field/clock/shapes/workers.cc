// C++: three threads take jobs from a queue and keep sessions in a map: each, the last 50, or none. ok|leak|last ; 1500 jobs
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex g_lock;
std::condition_variable g_wake;
std::queue<int> g_jobs;
bool g_is_over = false;
std::map<int, std::vector<double>> g_sessions;

[[gnu::noinline]] std::vector<double> Solve(int job) {
  std::vector<double> answer(5000, job);
  for (size_t i = 1; i < answer.size(); ++i) answer[i] += 0.5 * answer[i - 1];
  return answer;
}

[[gnu::noinline]] void Keep(int job, const std::vector<double>& answer, int most) {
  const std::scoped_lock lock(g_lock);
  g_sessions[job % most] = answer;  // HOLD 40 kB
}

void Serve(int most) {
  for (;;) {
    std::unique_lock lock(g_lock);
    g_wake.wait(lock, [] { return g_is_over || !g_jobs.empty(); });
    if (g_jobs.empty()) return;
    const int job = g_jobs.front();
    g_jobs.pop();
    lock.unlock();
    const std::vector<double> answer = Solve(job);
    if (most > 0) Keep(job, answer, most);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  const int most = kind == "leak" ? 1 << 30 : kind == "last" ? 50 : 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(Serve, most);
  for (int job = 0; job < 1500; ++job) {
    const std::scoped_lock lock(g_lock);
    g_jobs.push(job);
    g_wake.notify_one();
  }
  {
    const std::scoped_lock lock(g_lock);
    g_is_over = true;
  }
  g_wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  std::printf("COUNT jobs=1500\n");
}
