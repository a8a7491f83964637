#include "analyzer/cli/attach/blob.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace plateau::cli {
namespace {

std::atomic<int> g_loads{0};
std::atomic<bool> g_may_finish{true};

int32_t Entry(AttachRequest* request) {
  ++g_loads;
  while (!g_may_finish) usleep(1000);
  request->words = 11;
  errno = 5;
  return 3;
}
void* RealMalloc(size_t bytes) { return reinterpret_cast<void*>(bytes + 1); }
int RealPosixMemalign(void** p, size_t alignment, size_t bytes) {
  *p = reinterpret_cast<void*>(alignment + bytes);
  return 22;
}
void* RealMmap(void* a, size_t b, int c, int d, int e, off_t f) {
  return static_cast<char*>(a) + b + static_cast<size_t>(c + d + e) + static_cast<size_t>(f);
}

uint32_t ThisThread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// The blob's bytes in memory of its own, far from where they were linked, as in another process.
class BlobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const BlobBytes blob = GetBlobBytes();
    if (blob.size == 0) GTEST_SKIP() << "for other processors there is none";
    void* const code = mmap(reinterpret_cast<void*>(uintptr_t{1} << 44), blob.size,
                            PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(code, MAP_FAILED);
    code_ = static_cast<char*>(code);
    memcpy(code_, blob.begin, blob.size);
    BlobConstants* const constants = &constants_;
    memcpy(code_ + blob.constants_offset, &constants, sizeof(constants));
    entries_ = code_ + blob.entry_offset;
    constants_.state = &state_;
    constants_.errno_location = __errno_location;
    constants_.entry = Entry;
    state_.fd = -1;
    SetReal("malloc", RealMalloc);
    SetReal("posix_memalign", RealPosixMemalign);
    SetReal("mmap", RealMmap);
    SetReal("fork", fork);
    g_loads = 0;
    g_may_finish = true;
  }
  void TearDown() override {
    if (code_ != nullptr) munmap(code_, GetBlobBytes().size);
  }

  static size_t NumberOf(const char* name) {
    size_t i = 0;
    while (strcmp(kBlobFunctions[i], name) != 0) ++i;
    return i;
  }
  template <typename Function>
  void SetReal(const char* name, Function* function) {
    constants_.real[NumberOf(name)] = reinterpret_cast<uint64_t>(function);
  }
  template <typename Function>
  Function* EntryOf(const char* name, Function*) const {
    return reinterpret_cast<Function*>(entries_ + NumberOf(name) * kBlobEntryBytes);
  }
  void* Malloc(size_t bytes) { return EntryOf("malloc", RealMalloc)(bytes); }
  void SetProgress(uint32_t progress) { __atomic_store_n(&state_.progress, progress, __ATOMIC_SEQ_CST); }

  alignas(64) BlobState state_ = {};
  BlobConstants constants_ = {};
  char* code_ = nullptr;
  char* entries_ = nullptr;
};

TEST_F(BlobTest, LeadsOnWithAllArgumentsAndTheAnswer) {
  SetProgress(kBlobDisarmed);
  EXPECT_EQ(Malloc(41), reinterpret_cast<void*>(42));
  void* p = nullptr;
  EXPECT_EQ(EntryOf("posix_memalign", RealPosixMemalign)(&p, 64, 100), 22);
  EXPECT_EQ(p, reinterpret_cast<void*>(164));
  EXPECT_EQ(EntryOf("mmap", RealMmap)(reinterpret_cast<void*>(1), 20, 300, 4000, 50000, 600000),
            reinterpret_cast<void*>(654321));
  EXPECT_EQ(g_loads, 0);
}

TEST_F(BlobTest, TheFirstCallLoadsOnceAndIsMadeThen) {
  errno = 77;
  EXPECT_EQ(Malloc(41), reinterpret_cast<void*>(42));
  EXPECT_EQ(Malloc(1), reinterpret_cast<void*>(2));
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(g_loads, 1);
  EXPECT_EQ(state_.progress, kBlobLoaded);
  EXPECT_EQ(state_.loader_thread, ThisThread());
  EXPECT_EQ(state_.result, 3);
  EXPECT_EQ(state_.words, 11u);
}

TEST_F(BlobTest, AThreadThatHoldsALockOfTheLoaderGoesOn) {
  struct {
    uint32_t lock, count, owner;
  } mutex = {1, 1, ThisThread()};
  constants_.loader_locks[0] = reinterpret_cast<uint64_t>(&mutex);
  EXPECT_EQ(Malloc(41), reinterpret_cast<void*>(42));
  EXPECT_EQ(g_loads, 0);
  EXPECT_EQ(state_.passed_over, 1u);
  mutex.owner = 0;
  Malloc(1);
  EXPECT_EQ(g_loads, 1);
}

TEST_F(BlobTest, NobodyLoadsWhileAThreadForks) {
  state_.forks = 1;
  Malloc(41);
  EXPECT_EQ(g_loads, 0);
  EXPECT_EQ(state_.progress, kBlobWaiting);
  EXPECT_EQ(state_.loader_thread, 0u);
  state_.forks = 0;
  Malloc(41);
  EXPECT_EQ(g_loads, 1);
}

TEST_F(BlobTest, AForkWaitsForTheThreadThatLoads) {
  g_may_finish = false;
  std::thread loader([this] { Malloc(1); });
  while (g_loads == 0) usleep(100);
  std::atomic<bool> has_forked{false};
  std::thread forker([this, &has_forked] {
    const pid_t child = EntryOf("fork", fork)();
    if (child == 0)
      _exit(state_.progress == kBlobDisarmed && state_.loader_thread == 0 && state_.forks == 0 ? 7 : 8);
    has_forked = true;
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(has_forked);
  g_may_finish = true;
  loader.join();
  forker.join();
  EXPECT_TRUE(has_forked);
  EXPECT_EQ(state_.forks, 0u);
  EXPECT_EQ(state_.progress, kBlobLoaded);
}

TEST_F(BlobTest, AChildThatIsMadeMeanwhileDoesNotLoad) {
  const pid_t child = EntryOf("fork", fork)();
  if (child == 0) {
    Malloc(1);
    _exit(g_loads == 0 ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(state_.progress, kBlobWaiting);
  Malloc(1);
  EXPECT_EQ(g_loads, 1);
}

}  // namespace
}  // namespace plateau::cli
