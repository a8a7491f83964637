#include "analyzer/cli/launch/target.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace plateau::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr char kGlibcLoader[] = "/lib64/ld-linux-x86-64.so.2";

class TargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "target-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), 0755);
    return path;
  }

  // An ELF file of one program header, which names `loader`; empty: it has none.
  std::string WriteElf(const std::string& loader, unsigned char elf_class = ELFCLASS64,
                       uint16_t machine = EM_X86_64) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = elf_class;
    header.e_machine = machine;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment = {};
    segment.p_type = loader.empty() ? PT_LOAD : PT_INTERP;
    segment.p_offset = sizeof(header) + sizeof(segment);
    segment.p_filesz = loader.size() + 1;
    std::string content(reinterpret_cast<const char*>(&header), sizeof(header));
    content.append(reinterpret_cast<const char*>(&segment), sizeof(segment));
    content.append(loader.c_str(), loader.size() + 1);
    return Write("program", content);
  }

  std::filesystem::path folder_;
};

TEST_F(TargetTest, ProgramThatIsNotThereHasNoPath) {
  EXPECT_THAT(LookAtTarget("/nowhere/at/all", "").path, IsEmpty());
}

TEST_F(TargetTest, StaticProgramIsNotRecordedButItsChildrenMayBe) {
  const Target target = LookAtTarget(WriteElf(""), "");
  EXPECT_THAT(target.why_not, HasSubstr("statically linked"));
  EXPECT_TRUE(target.may_preload);
}

TEST_F(TargetTest, ProgramOfMuslIsLeftUntouched) {
  const Target target = LookAtTarget(WriteElf("/lib/ld-musl-x86_64.so.1"), "");
  EXPECT_THAT(target.why_not, HasSubstr("musl"));
  EXPECT_FALSE(target.may_preload);
}

TEST_F(TargetTest, ThirtyTwoBitProgramIsLeftUntouched) {
  const Target target = LookAtTarget(WriteElf("/lib/ld-linux.so.2", ELFCLASS32), "");
  EXPECT_THAT(target.why_not, HasSubstr("32-bit"));
  EXPECT_FALSE(target.may_preload);
}

TEST_F(TargetTest, ProgramOfAnotherProcessorIsLeftUntouched) {
  const Target target = LookAtTarget(WriteElf("/lib/ld.so.1", ELFCLASS64, EM_S390), "");
  EXPECT_THAT(target.why_not, HasSubstr("another processor"));
  EXPECT_FALSE(target.may_preload);
}

TEST_F(TargetTest, LibraryThatTheLoaderRefusesIsNotPreloaded) {
  if (!std::filesystem::exists(kGlibcLoader)) GTEST_SKIP() << "no loader of glibc for x86-64";
  const std::string no_library = Write("libshim.so", "not a library");
  const Target target = LookAtTarget(WriteElf(kGlibcLoader), no_library);
  EXPECT_THAT(target.why_not, HasSubstr("its loader cannot load the shim"));
  EXPECT_FALSE(target.may_preload);
}

TEST_F(TargetTest, LoaderTellsTheVersionOfTheCLibrary) {
  if (!std::filesystem::exists(kGlibcLoader)) GTEST_SKIP() << "no loader of glibc for x86-64";
  const Target target = LookAtTarget(WriteElf(kGlibcLoader), "/bin/sh");
  EXPECT_THAT(target.why_not, IsEmpty());
  EXPECT_THAT(target.glibc, MatchesRegex("2[.][0-9]+"));
}

TEST_F(TargetTest, ScriptIsJudgedByItsInterpreter) {
  const std::string program = WriteElf("/lib/ld-musl-x86_64.so.1");
  const std::string script = Write("script", "#!" + program + " -u\nprint()\n");
  const std::string outer = Write("outer", "#!/usr/bin/env " + script + "\n");
  EXPECT_THAT(LookAtTarget(script, "").why_not, HasSubstr("musl"));
  EXPECT_EQ(LookAtTarget(outer, "").path, program);
}

TEST_F(TargetTest, ScriptThatNamesItselfEnds) {
  const std::string path = (folder_ / "loop").string();
  Write("loop", "#!" + path + "\n");
  EXPECT_THAT(LookAtTarget(path, "").why_not, IsEmpty());
}

TEST_F(TargetTest, CutHeaderSpeaksAgainstNothing) {
  EXPECT_THAT(LookAtTarget(Write("cut", "\177ELF\2"), "").why_not, IsEmpty());
}

TEST_F(TargetTest, AScriptIsStartedByItsInterpreter) {
  const std::string script = Write("train.py", "print(1)\n");
  EXPECT_THAT(HowToStart(script), HasSubstr("plateau run -- python3 " + script));
  EXPECT_THAT(HowToStart((folder_ / "nothing").string()), IsEmpty());
}

TEST_F(TargetTest, AScriptThatDoesNotExistIsNamed) {
  const std::string script = Write("train.py", "print(1)\n"), none = (folder_ / "trian.py").string();
  EXPECT_EQ(MissingScript({"/usr/bin/python3.11", none, "--epochs", "2"}), none);
  EXPECT_EQ(MissingScript({"bash", none}), none);
  EXPECT_THAT(MissingScript({"python3", script}), IsEmpty());
  // What follows an option may belong to the option.
  EXPECT_THAT(MissingScript({"python3", "-m", none}), IsEmpty());
  EXPECT_THAT(MissingScript({"./train", none}), IsEmpty());
  EXPECT_THAT(MissingScript({"python3"}), IsEmpty());
}

}  // namespace
}  // namespace plateau::cli
