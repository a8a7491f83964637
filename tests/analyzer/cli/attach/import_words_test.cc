#include "analyzer/cli/attach/import_words.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {
namespace {

// lazy_words with pipes to its standard input and output.
class LazyProgram {
 public:
  LazyProgram() {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      close(in[1]);
      unsetenv("LD_BIND_NOW");
      execl(PROGRAM_DIR "/lazy_words", "lazy_words", nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
    Await();
  }
  ~LazyProgram() {
    close(in_);
    close(out_);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  // Makes it call malloc and free, which binds their words.
  void Allocate() {
    EXPECT_EQ(write(in_, "a", 1), 1);
    Await();
  }

 private:
  void Await() {
    char byte;
    EXPECT_EQ(read(out_, &byte, 1), 1);
  }

  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
};

class ImportWords : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!target_.OpenMemory().ok()) GTEST_SKIP() << "no right to other processes' memory here";
    ASSERT_TRUE(modules_.Load(target_).ok());
    for (const std::string& name : names_) real_.push_back(modules_.FindFirst(target_, name));
  }
  std::vector<ImportWord> Find(AddressRange blob = {}) {
    std::vector<ImportWord> all = FindImportWords(target_, modules_, names_, real_, nullptr, blob);
    std::vector<ImportWord> own;
    for (const ImportWord& word : all) {
      if (modules_.all().front().segments.front().begin <= word.at &&
          word.at < modules_.all().front().segments.back().end)
        own.push_back(word);
    }
    return own;
  }

  LazyProgram program_;
  TargetProcess target_{program_.pid()};
  TargetModules modules_;
  std::vector<std::string> names_ = {"malloc", "free"};
  std::vector<uint64_t> real_;
};

TEST_F(ImportWords, OfAProgramThatRunsAreFoundBeforeAndAfterTheyAreBound) {
  ASSERT_NE(real_[0], 0u);
  const std::vector<ImportWord> before = Find();
  ASSERT_EQ(before.size(), 2u);
  for (const ImportWord& word : before) {
    EXPECT_NE(word.held, word.real);
    EXPECT_TRUE(modules_.all().front().Contains(word.held));
  }
  program_.Allocate();
  const std::vector<ImportWord> after = Find();
  ASSERT_EQ(after.size(), 2u);
  for (const ImportWord& word : after) EXPECT_EQ(word.held, word.real);
}

// The program makes its first call between the look and the writing: a word that was bound meanwhile must be led all the
// same, or nobody would come by.
TEST_F(ImportWords, AWordThatIsBoundMeanwhileIsLedAllTheSame) {
  const std::vector<ImportWord> words = Find();
  ASSERT_EQ(words.size(), 2u);
  program_.Allocate();
  for (const ImportWord& word : words) {
    ASSERT_NE(target_.Get<uint64_t>(word.at), word.held) << "it was not bound";
    // To where it leads anyway, so that the program goes on.
    EXPECT_TRUE(LeadWord(target_, word, word.real));
  }
  program_.Allocate();
}

TEST_F(ImportWords, AWordThatHoldsSomethingElseIsLeftAlone) {
  program_.Allocate();
  for (ImportWord word : Find()) {
    const uint64_t is = word.held;
    word.held = word.real = is + 64;
    EXPECT_FALSE(LeadWord(target_, word, is + 128));
    EXPECT_EQ(target_.Get<uint64_t>(word.at), is);
    EXPECT_FALSE(PutWordBack(target_, word, {is + 1, is + 128}));
    word.held = is;
    EXPECT_TRUE(PutWordBack(target_, word, {is, is + 1}));
  }
}

// What an injector that was killed has left is read as the function behind it.
TEST_F(ImportWords, WordsThatLeadIntoABlobStandForTheRealFunction) {
  program_.Allocate();
  const std::vector<ImportWord> words = Find();
  ASSERT_EQ(words.size(), 2u);
  // The real function stands for the blob, so that the program can go on.
  const AddressRange blob = {real_[0], real_[0] + 1};
  real_[0] += 4096;
  bool is_found = false;
  for (const ImportWord& word : Find(blob)) is_found |= word.function == 0 && word.held == real_[0];
  EXPECT_TRUE(is_found);
}

}  // namespace
}  // namespace plateau::cli
