#include "preload/base/system_filter.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "preload/base/system_call.h"

namespace plateau::sys {
namespace {

sock_fprog ProgramOf(std::vector<sock_filter>& code) {
  return {static_cast<unsigned short>(code.size()), code.data()};
}

uint32_t Answer(std::vector<sock_filter> code, long number) { return WorstAnswer(ProgramOf(code), number); }

constexpr sock_filter Load(unsigned offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
constexpr sock_filter Return(uint32_t answer) { return BPF_STMT(BPF_RET | BPF_K, answer); }
constexpr sock_filter Equal(uint32_t value, uint8_t yes, uint8_t no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}
constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned kArgument = offsetof(seccomp_data, args);

TEST(SystemFilterTest, AListAllowsWhatItNames) {
  const std::vector<sock_filter> list = {Load(kNumber), Equal(SYS_write, 1, 0),
                                         Return(SECCOMP_RET_KILL_PROCESS), Return(SECCOMP_RET_ALLOW)};
  EXPECT_EQ(Answer(list, SYS_write), uint32_t{SECCOMP_RET_ALLOW});
  EXPECT_EQ(Answer(list, SYS_openat), uint32_t{SECCOMP_RET_KILL_PROCESS});
}

TEST(SystemFilterTest, ArgumentsCountAsTheWorstTheyCouldBe) {
  const std::vector<sock_filter> code = {Load(kNumber),
                                         Equal(SYS_mmap, 0, 3),
                                         Load(kArgument + 16),
                                         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1),
                                         Return(SECCOMP_RET_TRAP),
                                         Return(SECCOMP_RET_ALLOW)};
  EXPECT_EQ(Answer(code, SYS_mmap), uint32_t{SECCOMP_RET_TRAP});
  EXPECT_EQ(Answer(code, SYS_openat), uint32_t{SECCOMP_RET_ALLOW});
}

TEST(SystemFilterTest, AnAnswerThatIsComputedFromArgumentsIsTheWorst) {
  EXPECT_EQ(Answer({Load(kArgument), BPF_STMT(BPF_RET | BPF_A, 0)}, SYS_read),
            uint32_t{SECCOMP_RET_KILL_PROCESS});
}

TEST(SystemFilterTest, AProgramWithoutAnEndIsTheWorst) {
  EXPECT_EQ(Answer({Load(kNumber)}, SYS_read), uint32_t{SECCOMP_RET_KILL_PROCESS});
  EXPECT_EQ(Answer({BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff)}, SYS_read), uint32_t{SECCOMP_RET_KILL_PROCESS});
}

// Random filters that answer with error numbers, asked by us and by the kernel.
TEST(SystemFilterTest, AgreesWithTheKernel) {
  std::mt19937 random(1);
  const long numbers[] = {SYS_getppid, SYS_getuid, SYS_getgid, SYS_geteuid};
  for (int round = 0; round < 60; ++round) {
    std::vector<sock_filter> code = {Load(kNumber)};
    for (int i = 0; i < 12; ++i) {
      const uint32_t k = random() % 130;
      switch (random() % 6) {
        case 0:
          code.push_back(
              BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, k, static_cast<uint8_t>(random() % (13 - i)), 0));
          break;
        case 1:
          code.push_back(Equal(static_cast<uint32_t>(numbers[random() % 4]),
                               static_cast<uint8_t>(random() % (13 - i)), 0));
          break;
        case 2:
          code.push_back(BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, k));
          break;
        case 3:
          code.push_back(BPF_STMT(BPF_ST, static_cast<uint32_t>(random() % BPF_MEMWORDS)));
          break;
        case 4:
          code.push_back(BPF_STMT(BPF_MISC | (random() % 2 ? BPF_TAX : BPF_TXA), 0));
          break;
        case 5:
          code.push_back(BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0));
          break;
      }
    }
    // The error is 1000 plus what is left in A, so that a wrong step shows; everything else passes.
    code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 63));
    code.push_back(BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1000));
    code.push_back(BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO));
    code.push_back(BPF_STMT(BPF_MISC | BPF_TAX, 0));
    code.push_back(Load(kNumber));
    for (long number : numbers) code.push_back(Equal(static_cast<uint32_t>(number), 5, 0));
    code.push_back(Return(SECCOMP_RET_ALLOW));
    for (int i = 0; i < 4; ++i) code.push_back(BPF_STMT(BPF_MISC | BPF_TXA, 0));
    code.push_back(BPF_STMT(BPF_MISC | BPF_TXA, 0));
    code.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const sock_fprog program = ProgramOf(code);
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      long results[4] = {1, 1, 1, 1};
      if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
        for (int i = 0; i < 4; ++i) results[i] = KernelCall(numbers[i]);
      }
      if (write(ends[1], results, sizeof(results)) < 0) _exit(1);
      _exit(0);
    }
    close(ends[1]);
    long results[4] = {};
    ASSERT_EQ(read(ends[0], results, sizeof(results)), static_cast<ssize_t>(sizeof(results)));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 4; ++i) {
      const uint32_t answer = WorstAnswer(ProgramOf(code), numbers[i]);
      ASSERT_EQ(answer & SECCOMP_RET_ACTION_FULL, uint32_t{SECCOMP_RET_ERRNO});
      EXPECT_EQ(-results[i], static_cast<long>(answer & SECCOMP_RET_DATA)) << "round " << round;
    }
  }
}

TEST(SystemFilterTest, ForbiddenCallsFailWithoutReachingTheKernel) {
  const CallSet before = ForbiddenCalls();
  EXPECT_TRUE(before.empty());
  Forbid(StrictlyFilteredCalls());
  EXPECT_EQ(Call(SYS_getpid), -EPERM);
  EXPECT_FALSE(MayCall(SYS_openat));
  EXPECT_TRUE(MayCall(SYS_write));
  AllowAgain(before);
  EXPECT_EQ(Call(SYS_getpid), getpid());
}

// A call that is made but not in the list would pass a filter unasked.
TEST(SystemFilterTest, EveryCallOfTheShimIsInTheList) {
  namespace fs = std::filesystem;
  std::set<std::string> used;
  std::string list;
  for (const auto& entry : fs::recursive_directory_iterator(PLATEAU_SOURCE_DIR "/preload")) {
    const std::string path = entry.path();
    if (!path.ends_with(".cc") && !path.ends_with(".h")) continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string content = text.str();
    if (path.ends_with("base/system_filter.cc")) list = content;
    const std::regex call(R"(\bCall\(\s*(SYS_\w+))");
    for (auto match = std::sregex_iterator(content.begin(), content.end(), call);
         match != std::sregex_iterator(); ++match) {
      const std::string before = content.substr(0, static_cast<size_t>(match->position()));
      if (!before.ends_with("Kernel")) used.insert((*match)[1]);
    }
  }
  ASSERT_GT(used.size(), 20u);
  list = list.substr(0, list.find("};"));
  for (const std::string& name : used) EXPECT_NE(list.find(name + ","), std::string::npos) << name;
}

}  // namespace
}  // namespace plateau::sys
