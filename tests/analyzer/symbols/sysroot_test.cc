#include "analyzer/symbols/sysroot.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "analyzer/symbols/source_text.h"
#include "analyzer/symbols/symbolizer.h"

namespace plateau::symbols {
namespace {

namespace fs = std::filesystem;

class SysrootTest : public testing::Test {
 protected:
  SysrootTest() {
    std::string name = testing::TempDir() + "sysroot.XXXXXX";
    folder_ = mkdtemp(name.data());
    fs::create_directory(Root());
  }
  ~SysrootTest() override { fs::remove_all(folder_); }

  std::string Root() const { return folder_ + "/root"; }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(Root() + path).parent_path());
    std::ofstream(Root() + path) << text;
  }
  void Link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(Root() + path).parent_path());
    fs::create_symlink(target, Root() + path);
  }

  std::string folder_;
};

TEST_F(SysrootTest, FileIsFoundBelowTheFolder) {
  Write("/usr/lib/a.so", "a");
  EXPECT_EQ(Sysroot(Root() + "//").Find("/usr/lib/a.so"), Root() + "/usr/lib/a.so");
  EXPECT_EQ(Sysroot(Root()).Find("/usr//./lib/../lib/a.so"), Root() + "/usr/lib/a.so");
  EXPECT_EQ(Sysroot(Root()).Find("/usr/lib/b.so"), "");
}

TEST_F(SysrootTest, ThisSystemIsLeftAsItIs) {
  EXPECT_TRUE(Sysroot().IsThisSystem());
  EXPECT_TRUE(Sysroot("/").IsThisSystem());
  EXPECT_EQ(Sysroot().Find("/no/such/file"), "/no/such/file");
}

TEST_F(SysrootTest, LinksAreThoseOfTheOtherSystem) {
  Write("/usr/lib/a.so.1", "a");
  Link("/lib", "usr/lib");
  Link("/usr/lib/a.so", "/lib/a.so.1");
  Link("/usr/lib/b.so", "../../../../../../usr/lib/a.so.1");
  const Sysroot sysroot(Root());
  EXPECT_EQ(sysroot.Find("/lib/a.so"), Root() + "/usr/lib/a.so.1");
  EXPECT_EQ(sysroot.Find("/lib/b.so"), Root() + "/usr/lib/a.so.1");
}

TEST_F(SysrootTest, NothingOutsideTheFolderIsFound) {
  std::ofstream(folder_ + "/outside.py") << "secret";
  Write("/inside.py", "x = 1");
  Link("/up", "..");
  Link("/host", folder_);
  const Sysroot sysroot(Root());
  EXPECT_EQ(sysroot.Find("/../outside.py"), "");
  EXPECT_EQ(sysroot.Find("/up/outside.py"), "");
  EXPECT_EQ(sysroot.Find("/host/outside.py"), "");
  EXPECT_EQ(sysroot.Find("/up/inside.py"), Root() + "/inside.py");
}

TEST_F(SysrootTest, LinksInCirclesEnd) {
  Link("/a", "b");
  Link("/b", "a");
  Link("/c", "c/c/c");
  EXPECT_EQ(Sysroot(Root()).Find("/a"), "");
  EXPECT_EQ(Sysroot(Root()).Find("/c"), "");
}

TEST_F(SysrootTest, LinesOfSourcesComeFromThere) {
  Write("/srv/train.py", "first\nsecond\n");
  EXPECT_EQ(SourceText(Sysroot(Root())).Line("/srv/train.py", 2), "second");
  EXPECT_EQ(SourceText(Sysroot(Root())).Line("/etc/passwd", 1), "");
}

TEST_F(SysrootTest, MissingModuleIsNamedOnce) {
  Write("/x", "");
  Symbolizer symbolizer{Sysroot(Root())};
  EXPECT_TRUE(symbolizer.Resolve("/no/libfoo.so", std::string(20, 'b'), 0x1000).empty());
  EXPECT_TRUE(symbolizer.Resolve("/no/libfoo.so", std::string(20, 'b'), 0x2000).empty());
  ASSERT_EQ(symbolizer.problems().size(), 1u);
  EXPECT_EQ(symbolizer.problems()[0], "/no/libfoo.so: not in the folder of --sysroot");
}

}  // namespace
}  // namespace plateau::symbols
