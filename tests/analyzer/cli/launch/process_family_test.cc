#include "analyzer/cli/launch/process_family.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace plateau::cli {
namespace {

// A child that has a child; both wait until the pipe is closed.
class Family {
 public:
  Family() {
    EXPECT_EQ(pipe(hold_), 0);
    EXPECT_EQ(pipe(ready_), 0);
    child_ = fork();
    if (child_ == 0) {
      close(hold_[1]);
      signal(SIGUSR1, [](int) {});
      const pid_t grandchild = fork();
      char c = 0;
      if (grandchild == 0) {
        signal(SIGUSR1, SIG_DFL);
        const pid_t self = getpid();
        if (write(ready_[1], &self, sizeof(self)) != sizeof(self)) _exit(1);
        while (read(hold_[0], &c, 1) < 0) {
        }
        _exit(0);
      }
      while (waitpid(grandchild, nullptr, 0) < 0) {
      }
      _exit(0);
    }
    close(hold_[0]);
    EXPECT_EQ(read(ready_[0], &grandchild_, sizeof(grandchild_)), static_cast<ssize_t>(sizeof(grandchild_)));
  }
  ~Family() { End(); }
  void End() {
    if (child_ == 0) return;
    close(hold_[1]);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  pid_t child() const { return child_; }
  pid_t grandchild() const { return grandchild_; }

 private:
  int hold_[2], ready_[2];
  pid_t child_ = 0, grandchild_ = 0;
};

TEST(ProcessFamilyTest, ItIsAllThatDescendFromAProcess) {
  Family family;
  EXPECT_EQ(FamilyOf(family.child()), (std::vector<pid_t>{family.child(), family.grandchild()}));
  const std::vector<pid_t> ours = FamilyOf(getpid());
  EXPECT_EQ(ours.front(), getpid());
  EXPECT_NE(std::find(ours.begin(), ours.end(), family.grandchild()), ours.end());
  EXPECT_GT(ResidentBytes(ours), ResidentBytes({getpid()}));
  const pid_t gone = family.child();
  family.End();
  EXPECT_TRUE(FamilyOf(gone).empty());
}

TEST(ProcessFamilyTest, AHandlerIsToldFromTheDefault) {
  Family family;
  EXPECT_TRUE(Catches(family.child(), SIGUSR1));
  EXPECT_FALSE(Catches(family.grandchild(), SIGUSR1));
  EXPECT_FALSE(Catches(family.child(), SIGUSR2));
  EXPECT_FALSE(Catches(0x3fffff, SIGUSR1));
  EXPECT_FALSE(Catches(family.child(), 0));
}

TEST(ProcessFamilyTest, SignalsHaveNamesAndNumbers) {
  EXPECT_EQ(ParseSignal("USR1"), SIGUSR1);
  EXPECT_EQ(ParseSignal("SIGTERM"), SIGTERM);
  EXPECT_EQ(ParseSignal("10"), 10);
  for (const char* wrong : {"", "USR3", "0", "-1", "999", "usr1x"}) EXPECT_FALSE(ParseSignal(wrong)) << wrong;
}

}  // namespace
}  // namespace plateau::cli
