// A program that is attached to while it runs. It does what its standard input says, a command a line, and answers each
// with one line: what happened, or "done".
//
//   keep N BYTES     N blocks that stay, from a function of that name
//   new N BYTES      the same by operator new, which some allocators bring along, and no malloc is called
//   drop N           frees the last N of them
//   churn N          N blocks that come and go, with every function of the family
//   open PATH        opens a library for good         call NAME   calls a void function of it
//   attach LIB OPTION...  opens LIB and calls its entry, as the injector's blob does
//   fork             a child that keeps 10 blocks of 30003 bytes and ends
//   threads N        N threads that churn until "quiet"
//   mark             plateau_mark_step(), when there is one
//   slow N           walks over the modules, by whomever, begin N milliseconds late from here on
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "preload/attach/attach_request.h"
#include "preload/include/plateau/mark.h"

namespace {

std::vector<void*> g_kept;
std::vector<void*> g_libraries;
std::vector<std::thread> g_threads;
std::atomic<bool> g_quiet{false};
std::atomic<int> g_bad{0};
std::atomic<useconds_t> g_late_us{0};

[[gnu::noinline]] void* Keep(size_t bytes) {
  void* p = malloc(bytes);
  memset(p, 1, bytes);
  return p;
}

[[gnu::noinline]] void* KeepNew(size_t bytes) { return operator new(bytes); }

// Blocks must hold what was put into them: one that came from one allocator and went to another would not.
[[gnu::noinline]] void Churn(unsigned seed) {
  const size_t bytes = 16 + seed % 3000;
  void* blocks[6] = {malloc(bytes),
                     calloc(2, bytes),
                     nullptr,
                     aligned_alloc(64, (bytes + 63) / 64 * 64),
                     memalign(32, bytes),
                     reallocarray(nullptr, 3, bytes)};
  if (posix_memalign(&blocks[2], 128, bytes) != 0) abort();
  for (void* p : blocks) memset(p, static_cast<int>(seed & 0xff), bytes);
  errno = 77;
  for (void*& p : blocks) p = realloc(p, bytes * 2);
  for (void* p : blocks) {
    const auto* byte = static_cast<unsigned char*>(p);
    if (byte[0] != (seed & 0xff) || byte[bytes - 1] != (seed & 0xff)) ++g_bad;
    free(p);
  }
  if (errno != 77) ++g_bad;
  const std::string text(200 + seed % 100, 'x');
  if (text.size() < 200) ++g_bad;
  free(strdup("a copy that the C library allocates"));
}

void Attach(char* rest) {
  char* library = strtok(rest, " ");
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    printf("failed: %s\n", dlerror());
    return;
  }
  using Entry = int32_t(plateau::AttachRequest*);
  auto* entry = reinterpret_cast<Entry*>(dlsym(handle, plateau::kAttachEntry));
  if (entry == nullptr) {
    printf("no entry\n");
    return;
  }
  static plateau::AttachRequest request;
  request = {.version = plateau::kAttachVersion};
  char* out = request.options;
  while (const char* option = strtok(nullptr, " ")) out = stpcpy(out, option) + 1;
  errno = 77;
  const int32_t result = entry(&request);
  printf("result %d words %u modules %u left_out %u program %u us %lu errno %d\n", result, request.words,
         request.modules, request.modules_left_out, request.program_imports,
         static_cast<unsigned long>(request.patched_ns / 1000), errno);
}

void Fork() {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) g_kept.push_back(Keep(30003));
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d %d\n", child, WEXITSTATUS(status));
}

void Do(char* line) {
  line[strcspn(line, "\n")] = 0;
  char* rest = strchr(line, ' ');
  if (rest != nullptr) *rest++ = 0;
  const std::string command = line;
  size_t count = 0, bytes = 0;
  if (rest != nullptr) sscanf(rest, "%zu %zu", &count, &bytes);
  if (command == "attach") return Attach(rest);
  if (command == "fork") return Fork();
  if (command == "keep") {
    for (size_t i = 0; i < count; ++i) g_kept.push_back(Keep(bytes));
  } else if (command == "new") {
    for (size_t i = 0; i < count; ++i) KeepNew(bytes);
  } else if (command == "drop") {
    for (size_t i = 0; i < count; ++i, g_kept.pop_back()) free(g_kept.back());
  } else if (command == "churn") {
    for (size_t i = 0; i < count; ++i) Churn(static_cast<unsigned>(i));
  } else if (command == "open") {
    g_libraries.push_back(dlopen(rest, RTLD_NOW | RTLD_LOCAL));
    if (g_libraries.back() == nullptr) return static_cast<void>(printf("failed: %s\n", dlerror()));
  } else if (command == "call") {
    if (auto* function = reinterpret_cast<void (*)()>(dlsym(g_libraries.back(), rest))) function();
  } else if (command == "threads") {
    for (size_t i = 0; i < count; ++i) {
      g_threads.emplace_back([] {
        for (unsigned k = 0; !g_quiet; ++k) Churn(k);
      });
    }
  } else if (command == "quiet") {
    g_quiet = true;
    for (std::thread& thread : g_threads) thread.join();
    g_threads.clear();
    g_quiet = false;
  } else if (command == "slow") {
    g_late_us = static_cast<useconds_t>(count * 1000);
  } else if (command == "mark") {
    if (plateau_mark_step != nullptr) plateau_mark_step("");
  }
  printf("done, bad %d\n", g_bad.load());
}

}  // namespace

// The program's definition comes before libc's for every library.
extern "C" int dl_iterate_phdr(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  static auto* const real = reinterpret_cast<decltype(&dl_iterate_phdr)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  if (g_late_us > 0) usleep(g_late_us);
  return real(visit, data);
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 1024);
  printf("pid %d\n", getpid());
  char line[2048];
  while (fgets(line, sizeof(line), stdin) != nullptr) Do(line);
  return g_bad == 0 ? 0 : 1;
}
