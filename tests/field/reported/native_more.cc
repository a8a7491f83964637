// More native programs as people report them: native_more KIND.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static int Scale() {
  const char* s = getenv("SCALE");
  return s ? atoi(s) : 3;
}
static void Work() {
  volatile double x = 1;
  for (int i = 0; i < 20000; ++i) x = x * 1.0001 + 0.1;
}

static std::string Render(int id) { return std::string(200 + id % 50, 'a'); }

static void sessions() {  // never erased
  static std::unordered_map<int, std::string> sessions;
  for (int id = 0; id < 60000 * Scale(); ++id) {
    sessions.emplace(id, Render(id));
    Work();
  }
}

static void maps() {  // each frame is mapped and never unmapped
  for (int frame = 0; frame < 800 * Scale(); ++frame) {
    char* p = static_cast<char*>(
        mmap(nullptr, 128 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(p, 1, 128 << 10);
    for (int i = 0; i < 100; ++i) Work();
  }
}

static void detached() {  // threads that wait for ever
  for (int i = 0; i < 300 * Scale(); ++i) {
    std::thread([] {
      char buffer[32 << 10];
      memset(buffer, 1, sizeof buffer);
      std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    for (int k = 0; k < 200; ++k) Work();
  }
  _exit(0);
}

static void frames() {  // a list of the last 64 frames
  std::list<std::vector<float>> last;
  for (int frame = 0; frame < 6000 * Scale(); ++frame) {
    last.emplace_back(20000 + frame % 1000, 1.0f);
    if (last.size() > 64) last.pop_front();
    Work();
  }
}

static void parse() {  // a tree is built and dropped for each request
  for (int request = 0; request < 4000 * Scale(); ++request) {
    std::map<std::string, std::vector<std::string>> tree;
    for (int i = 0; i < 60; ++i)
      tree["key" + std::to_string(i * 7919 % 1000)].assign(i % 9, std::string(30 + i, 'x'));
    Work();
  }
}

int main(int, char** argv) {
  const std::string kind = argv[1];
  if (kind == "sessions") sessions();
  if (kind == "maps") maps();
  if (kind == "detached") detached();
  if (kind == "frames") frames();
  if (kind == "parse") parse();
}
