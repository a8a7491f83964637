#include "analyzer/replay/definitions/site_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/replay/definitions/generated_code.h"
#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

using Owner = SiteTable::Owner;

TEST(SiteTableTest, PathsDecideWhoOwnsAModule) {
  EXPECT_EQ(OwnerOfModule("/home/me/train", "/home/me/train"), Owner::kUser);
  EXPECT_EQ(OwnerOfModule("/home/me/libmine.so", "/home/me/train"), Owner::kUser);
  EXPECT_EQ(OwnerOfModule("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so", "/home/me/train"), Owner::kLibrary);
  EXPECT_EQ(OwnerOfModule("/usr/lib/x86_64-linux-gnu/libc.so.6", ""), Owner::kRuntime);
  EXPECT_EQ(OwnerOfModule("/home/me/venv/lib/python3.11/site-packages/torch/lib/libc10.so", ""),
            Owner::kLibrary);
  EXPECT_EQ(OwnerOfModule("/home/me/.pyenv/versions/3.11.7/bin/python3.11",
                          "/home/me/.pyenv/versions/3.11.7/bin/python3.11"),
            Owner::kRuntime);
  EXPECT_EQ(OwnerOfModule("/usr/bin/git", "/usr/bin/git"), Owner::kMainProgram);
  EXPECT_EQ(OwnerOfModule("", ""), Owner::kRuntime);
}

TEST(SiteTableTest, FilesDecideWhoOwnsPythonCode) {
  EXPECT_EQ(OwnerOfPythonFile("/home/me/train.py"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("train.py"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("<stdin>"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("/usr/lib/python3/dist-packages/torch/nn/modules/module.py"), Owner::kPython);
  EXPECT_EQ(OwnerOfPythonFile("/usr/lib/python3.11/json/decoder.py"), Owner::kPython);
  EXPECT_EQ(OwnerOfPythonFile("<frozen importlib._bootstrap>"), Owner::kLibrary);
}

// libc < libtorch < torch/module.py < train.py:12 and :13 < python
constexpr char kStacks[] = R"(
module module=1 path="/usr/bin/python3.11"
module module=2 path="/usr/lib/libtorch.so"
module module=3 path="/usr/lib/libc.so.6"
code code=1 python=0x309 line=10 file="/home/me/train.py" name="main" table=000204010401
code code=2 python=0x309 line=1 file="/usr/lib/python3/dist-packages/torch/module.py" name="forward"
pc location=1 module=1 offset=0x10
pc location=2 module=2 offset=0x20
pc location=3 module=3 offset=0x30
python_location location=4 code=1 offset=0
python_location location=5 code=1 offset=2
python_location location=6 code=1 offset=4
python_location location=7 code=2 offset=0
node node=1 parent=0 location=1
node node=2 parent=1 location=4
node node=3 parent=2 location=7
node node=4 parent=3 location=2
node node=5 parent=4 location=3
node node=6 parent=1 location=5
node node=7 parent=6 location=3
node node=8 parent=1 location=6
node node=9 parent=8 location=3
node node=10 parent=1 location=7
node node=11 parent=10 location=2
node node=12 parent=1 location=2
node node=13 parent=12 location=3
)";

Definitions Stacks() {
  const std::string path = testing::WriteTemporary("sites.plt", testing::TraceFromText(kStacks));
  return *CollectDefinitions(**reader::TraceReader::Open(path));
}

// Offsets 0 and 2 share line 12, offset 4 is line 13.
int Line(const CodeObject&, uint32_t offset) { return offset < 4 ? 12 : 13; }

TEST(SiteTableTest, InnermostUserFrameIsTheSiteAndOneLineIsOneSite) {
  const Definitions definitions = Stacks();
  SiteTable table(&definitions, {.main_program = "/usr/bin/python3.11", .python_line = Line});
  const uint32_t deep = table.SiteOf(Pool::kHeap, 5);
  EXPECT_EQ(table.sites()[deep].location, 4u);
  EXPECT_EQ(table.SiteOf(Pool::kHeap, 7), deep);
  EXPECT_NE(table.SiteOf(Pool::kHeap, 9), deep);
  EXPECT_NE(table.SiteOf(Pool::kMmap, 5), deep);
}

// Threads take numbers in batches and use each other's nodes.
TEST(SiteTableTest, CallersMayHaveLargerNumbers) {
  const std::string nodes = R"(
node node=31 parent=0 location=1
node node=20 parent=31 location=4
node node=30 parent=20 location=2
node node=1 parent=30 location=3
)";
  const std::string text = std::string(kStacks).substr(0, std::string(kStacks).find("node node=1 ")) + nodes;
  const std::string path = testing::WriteTemporary("sites.plt", testing::TraceFromText(text));
  const Definitions definitions = *CollectDefinitions(**reader::TraceReader::Open(path));
  SiteTable table(&definitions, {.main_program = "/usr/bin/python3.11", .python_line = Line});
  const uint32_t site = table.SiteOf(Pool::kHeap, 1);
  EXPECT_EQ(table.sites()[site].location, 4u);
  EXPECT_EQ(table.SiteOf(Pool::kHeap, 30), site);
  EXPECT_EQ(table.SiteNode(1), 20u);
  EXPECT_EQ(table.SiteNode(31), 31u);
}

TEST(SiteTableTest, WithoutUserFrameThePythonLibraryThenTheNativeOneIsTaken) {
  const Definitions definitions = Stacks();
  SiteTable table(&definitions, {.main_program = "/usr/bin/python3.11", .python_line = Line});
  EXPECT_EQ(table.sites()[table.SiteOf(Pool::kHeap, 11)].location, 7u);
  EXPECT_EQ(table.sites()[table.SiteOf(Pool::kHeap, 13)].location, 2u);
  EXPECT_EQ(table.sites()[table.SiteOf(Pool::kHeap, 0)].location, 0u);
}

TEST(SiteTableTest, OtherRules) {
  const Definitions definitions = Stacks();
  SiteTable leaf(&definitions, {.rule = SiteRule::kLeaf});
  EXPECT_EQ(leaf.sites()[leaf.SiteOf(Pool::kHeap, 5)].location, 2u);
  SiteTable stack(&definitions, {.rule = SiteRule::kStack});
  EXPECT_NE(stack.SiteOf(Pool::kHeap, 7), stack.SiteOf(Pool::kHeap, 9));
  EXPECT_EQ(ParseSiteRule("leaf"), SiteRule::kLeaf);
  EXPECT_FALSE(ParseSiteRule("nonsense").has_value());
}

TEST(SiteTableTest, PlumbingPassesTheBlameOn) {
  const Definitions definitions = [] {
    const std::string path = testing::WriteTemporary("plumbing.plt", testing::TraceFromText(R"(
module module=1 path="/home/me/train"
pc location=1 module=1 offset=0x10
pc location=2 module=1 offset=0x99
node node=1 parent=0 location=1
node node=2 parent=1 location=2
)"));
    return *CollectDefinitions(**reader::TraceReader::Open(path));
  }();
  SiteTable table(&definitions,
                  {.main_program = "/home/me/train",
                   .is_plumbing = [](const Module&, uint64_t offset) { return offset == 0x99; }});
  EXPECT_EQ(table.sites()[table.SiteOf(Pool::kHeap, 2)].location, 1u);
}

TEST(SiteTableTest, PlateausOwnPythonFilesAreNotTheUsers) {
  EXPECT_NE(OwnerOfPythonFile("/opt/plateau/python/plateau_site/sitecustomize.py"), Owner::kUser);
  EXPECT_NE(OwnerOfPythonFile("/home/me/plateau/python/plateau_trace/mark.py"), Owner::kUser);
  EXPECT_NE(OwnerOfPythonFile("/etc/python3.11/sitecustomize.py"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("/home/me/sitecustomize.py"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("/home/me/project/mark.py"), Owner::kUser);
}

TEST(SiteOwners, AFolderThatOnlyLooksLikeTheStandardLibraryIsTheUsers) {
  EXPECT_EQ(OwnerOfPythonFile("/home/me/lib/python_tools/train.py"), Owner::kUser);
  EXPECT_EQ(OwnerOfPythonFile("/opt/py/lib/python3.13t/json/decoder.py"), Owner::kPython);
  EXPECT_EQ(OwnerOfPythonFile("/opt/py/lib/python311.zip/json/decoder.py"), Owner::kPython);
}

TEST(GeneratedCode, IsTheCallersBusiness) {
  const std::string hash = "cab" + std::string(49, 'x');
  EXPECT_TRUE(IsInCompilerCache("/tmp/torchinductor_me/ab/" + hash + ".py"));
  EXPECT_TRUE(IsInCompilerCache("/scratch/cache/ab/" + hash + ".main.so"));
  EXPECT_FALSE(IsInCompilerCache("/scratch/cache/zz/" + hash + ".py")) << "not the folder of its hash";
  EXPECT_TRUE(IsInCompilerCache("/tmp/__autograph_generated_filev535irgd.py")) << "TensorFlow's functions";
  EXPECT_FALSE(IsInCompilerCache("/home/me/train.py"));
  for (const char* file : {"<eval_with_key>.3", "<__array_function__ internals>",
                           "<frozen importlib._bootstrap>", "<attrs generated init x.Y>", "<string>"}) {
    EXPECT_TRUE(IsGeneratedPython(file, "f", false)) << file;
  }
  EXPECT_FALSE(IsGeneratedPython("<string>", "f", true)) << "python -c";
  EXPECT_TRUE(IsGeneratedPython("<string>", "__init__", true)) << "of a dataclass";
  for (const char* file :
       {"<stdin>", "<ipython-input-7-2f3a>", "/tmp/ipykernel_71/2938.py", "/home/me/train.py"}) {
    EXPECT_FALSE(IsGeneratedPython(file, "f", false)) << file;
  }
}

}  // namespace
}  // namespace plateau::replay
