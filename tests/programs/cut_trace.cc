// Cuts its own trace to nothing while it is mapped, as a clean-up job might, and goes on allocating. argv[1] says what else it
// does with SIGBUS:
//   plain            nothing                        threads   four threads allocate meanwhile
//   handler          has a handler of its own, which must see a SIGBUS of its own and no other
//   query            asks what is set, before and after
//   own              has no handler and touches a cut file of its own: it ends by SIGBUS
//   sent             the same with a SIGBUS that it sends itself
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int seen = 0;

static void CutTraces() {
  const char* directory = getenv("PLATEAU_OUT");
  DIR* folder = directory == nullptr ? nullptr : opendir(directory);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
    if (strstr(path, ".plt") != nullptr && truncate(path, 0) != 0) _exit(3);
  }
  closedir(folder);
}

static void* Churn(void* rounds) {
  for (long i = 0; i < reinterpret_cast<long>(rounds); ++i) {
    void* p = malloc(static_cast<size_t>(i % 30000 + 1));
    free(p);
  }
  return nullptr;
}

static void OnBus(int) {
  seen = seen + 1;
  siglongjmp(back, 1);
}

static char* CutFile() {
  char path[] = "/tmp/cut-XXXXXX";
  const int fd = mkstemp(path);
  unlink(path);
  if (ftruncate(fd, 4096) != 0) _exit(4);
  char* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (ftruncate(fd, 0) != 0) _exit(5);
  return page;
}

static void PrintSetting(const char* when) {
  struct sigaction action;
  sigaction(SIGBUS, nullptr, &action);
  printf("%s: %s, flags %x\n", when,
         action.sa_handler == SIG_DFL ? "default"
         : action.sa_handler == OnBus ? "own"
                                      : "other",
         static_cast<unsigned>(action.sa_flags));
}

int main(int, char** argv) {
  const char* way = argv[1];
  char* page = CutFile();
  if (strcmp(way, "handler") == 0) signal(SIGBUS, OnBus);
  if (strcmp(way, "query") == 0) {
    PrintSetting("at first");
    struct sigaction action = {};
    action.sa_handler = OnBus;
    action.sa_flags = SA_NODEFER | SA_RESETHAND;
    sigaction(SIGBUS, &action, nullptr);
    PrintSetting("later");
  }
  pthread_t threads[4];
  const bool has_threads = strcmp(way, "threads") == 0;
  if (has_threads) {
    for (pthread_t& thread : threads)
      pthread_create(&thread, nullptr, Churn, reinterpret_cast<void*>(200000));
  }
  Churn(reinterpret_cast<void*>(2000));
  CutTraces();
  Churn(reinterpret_cast<void*>(20000));
  if (has_threads) {
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  if (strcmp(way, "handler") == 0 || strcmp(way, "query") == 0) {
    if (sigsetjmp(back, 1) == 0) page[0] = 1;
    if (seen != 1) return 6;
  }
  if (strcmp(way, "query") == 0) PrintSetting("at last");
  Churn(reinterpret_cast<void*>(20000));
  puts("done");
  fflush(stdout);
  if (strcmp(way, "own") == 0) page[0] = 1;
  if (strcmp(way, "sent") == 0) raise(SIGBUS);
  return 0;
}
