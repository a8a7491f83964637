// A third set of native programs as people report them: native_third KIND.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

static int Scale() {
  const char* s = getenv("SCALE");
  return s ? atoi(s) : 3;
}
static void Work(int rounds = 20000) {
  volatile double x = 1;
  for (int i = 0; i < rounds; ++i) x = x * 1.0001 + 0.1;
}

static void interned() {  // each name is new and stays in the pool of strings
  static std::unordered_set<std::string> pool;
  for (int id = 0; id < 80000 * Scale(); ++id) {
    pool.insert("/metrics/host-" + std::to_string(id) + "/requests/by/path/and/status/code/total");
    Work(5000);
  }
}

static void listeners() {  // each round registers what it wants to hear and never says that it has gone
  static std::vector<std::function<void(int)>> listeners;
  for (int round = 0; round < 20000 * Scale(); ++round) {
    auto state = std::make_shared<std::vector<int>>(100, round);
    listeners.push_back([state](int event) { (*state)[0] = event; });
    Work();
  }
}

static void handles() {  // files that are opened and never closed
  const std::string path = "/tmp/native-third." + std::to_string(rand());
  for (int i = 0; i < 300 * Scale(); ++i) {
    FILE* file = fopen(path.c_str(), "a");
    if (file == nullptr) break;
    fprintf(file, "round %d\n", i);
    for (int k = 0; k < 100; ++k) Work();
  }
  remove(path.c_str());
}

static void arena() {  // chunks of a bump allocator, all given back at the end of a round
  for (int round = 0; round < 4000 * Scale(); ++round) {
    std::vector<std::unique_ptr<char[]>> chunks;
    size_t used = 0, size = 0;
    for (int i = 0; i < 200; ++i) {
      const size_t want = 100 + (i * 7919 + round) % 900;
      if (used + want > size) {
        size = 16 << 10;
        used = 0;
        chunks.emplace_back(new char[size]);
      }
      memset(chunks.back().get() + used, i, want);
      used += want;
    }
    Work();
  }
}

static void ring() {  // the last 2,000 records
  std::deque<std::unique_ptr<std::string>> last;
  for (int i = 0; i < 60000 * Scale(); ++i) {
    last.push_back(std::make_unique<std::string>(400 + i % 200, 'r'));
    if (last.size() > 2000) last.pop_front();
    Work(5000);
  }
}

static void high_water() {  // buffers keep the capacity of the largest request so far
  std::vector<std::vector<char>> buffers(16);
  unsigned seed = 1;
  for (int i = 0; i < 20000 * Scale(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    std::vector<char>& buffer = buffers[i % buffers.size()];
    buffer.resize(1000 + seed % 50000);
    buffer[buffer.size() / 2] = 1;
    Work(5000);
  }
}

static void pool_of_threads() {  // four threads for each batch, with scratch of their own
  for (int batch = 0; batch < 200 * Scale(); ++batch) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        static thread_local std::vector<double> scratch;
        scratch.assign(4000, 1.0);
        Work(50000);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

int main(int, char** argv) {
  const std::string kind = argv[1];
  if (kind == "interned") interned();
  if (kind == "listeners") listeners();
  if (kind == "handles") handles();
  if (kind == "arena") arena();
  if (kind == "ring") ring();
  if (kind == "high_water") high_water();
  if (kind == "pool_of_threads") pool_of_threads();
}
