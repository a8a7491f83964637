#include "preload/base/mapped_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace plateau {
namespace {

class MappedCodeTest : public testing::Test {
 protected:
  // What FindMappedCode() says of `address` in a process with these maps.
  const MappedCode& Find(const std::string& maps, uintptr_t address) {
    const std::string file = testing::TempDir() + "/maps." + std::to_string(getpid());
    std::ofstream(file) << maps;
    EXPECT_TRUE(FindMappedCode(address, &found_, file.c_str()));
    std::remove(file.c_str());
    return found_;
  }

  MappedCode found_;
};

constexpr char kLibrary[] =
    "10000-11000 r--p 00000000 fe:00 7                          /opt/with space/lib one.so\n"
    "11000-13000 r-xp 00001000 fe:00 7                          /opt/with space/lib one.so\n"
    "13000-14000 rw-p 00003000 fe:00 7                          /opt/with space/lib one.so\n"
    "14000-16000 rw-p 00000000 00:00 0 \n"
    "20000-21000 rwxp 00000000 00:00 0 \n"
    "30000-31000 r-xp 00005000 fe:00 8                          /data/without-its-beginning\n";

TEST_F(MappedCodeTest, CodeOfALibraryBelongsToTheMappingOfItsFirstByte) {
  const MappedCode& found = Find(kLibrary, 0x12345);
  EXPECT_EQ(found.file_begin, 0x10000u);
  EXPECT_EQ(found.begin, 0x11000u);
  EXPECT_EQ(found.end, 0x13000u);
  EXPECT_STREQ(found.path, "/opt/with space/lib one.so");
}

TEST_F(MappedCodeTest, GeneratedCodeHasAMappingAndNoFile) {
  const MappedCode& found = Find(kLibrary, 0x20010);
  EXPECT_EQ(found.file_begin, 0u);
  EXPECT_EQ(found.begin, 0x20000u);
  EXPECT_EQ(found.end, 0x21000u);
}

TEST_F(MappedCodeTest, DataAndHolesAreNoCode) {
  EXPECT_EQ(Find(kLibrary, 0x13008).file_begin, 0u);
  EXPECT_EQ(Find(kLibrary, 0x18000).end, 0u);
  EXPECT_EQ(Find(kLibrary, 0x40000).end, 0u);
}

TEST_F(MappedCodeTest, AFileWhoseBeginningIsNotMappedIsNotAnswered) {
  EXPECT_EQ(Find(kLibrary, 0x30010).file_begin, 0u);
}

TEST_F(MappedCodeTest, OneFileThatIsLoadedTwiceHasTwoBeginnings) {
  const std::string maps =
      "10000-11000 r--p 00000000 fe:00 7 /lib/a.so\n11000-12000 r-xp 00001000 fe:00 7 /lib/a.so\n"
      "20000-21000 r--p 00000000 fe:00 7 /lib/a.so\n21000-22000 r-xp 00001000 fe:00 7 /lib/a.so\n";
  EXPECT_EQ(Find(maps, 0x11800).file_begin, 0x10000u);
  EXPECT_EQ(Find(maps, 0x21800).file_begin, 0x20000u);
}

TEST_F(MappedCodeTest, AnotherLibraryInAHoleIsSteppedOver) {
  const std::string maps =
      "10000-11000 r--p 00000000 fe:00 7 /lib/holes.so\n"
      "12000-13000 r--p 00000000 fe:00 8 /lib/other.so\n13000-14000 r-xp 00001000 fe:00 8 /lib/other.so\n"
      "20000-21000 r-xp 00001000 fe:00 7 /lib/holes.so\n";
  EXPECT_EQ(Find(maps, 0x20800).file_begin, 0x10000u);
}

TEST_F(MappedCodeTest, PathsLongerThanTheBufferAreCutAndTheNextLineIsRead) {
  const std::string path = "/" + std::string(5000, 'x') + ".so";
  const std::string maps =
      "10000-11000 r-xp 00000000 fe:00 7 " + path + "\n20000-21000 r-xp 00000000 fe:00 8 /lib/b.so\n";
  const std::string first = Find(maps, 0x10800).path;
  EXPECT_EQ(first, path.substr(0, MappedCode::kMaxPath - 1));
  EXPECT_STREQ(Find(maps, 0x20800).path, "/lib/b.so");
  EXPECT_EQ(found_.file_begin, 0x20000u);
}

TEST_F(MappedCodeTest, OwnMapsTellTheFileOfAFunction) {
  ASSERT_TRUE(FindMappedCode(reinterpret_cast<uintptr_t>(&std::malloc), &found_));
  EXPECT_NE(found_.file_begin, 0u);
  EXPECT_EQ(found_.path[0], '/') << found_.path;
}

TEST_F(MappedCodeTest, MapsThatCannotBeReadAreAnError) {
  EXPECT_FALSE(FindMappedCode(0x1000, &found_, "/nowhere/maps"));
}

}  // namespace
}  // namespace plateau
