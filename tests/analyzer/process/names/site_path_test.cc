#include "analyzer/process/names/site_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plateau::process {
namespace {

using symbols::Frame;

Frame Python(std::string function, std::string file, int line) {
  return {.function = std::move(function), .file = std::move(file), .line = line, .kind = "python"};
}

std::vector<const Frame*> StackOf(const std::vector<Frame>& frames) {
  std::vector<const Frame*> stack;
  for (const Frame& frame : frames) stack.push_back(&frame);
  return stack;
}

TEST(SitePathTest, TheInnermostPythonLineIsTheLibrarys) {
  const std::vector<Frame> frames = {{.function = "malloc"},
                                     Python("<lambda>", "<eval_with_key>.1", 3),
                                     Python("pad", "/v/site-packages/fitkit/padding.py", 9),
                                     Python("fit", "/v/site-packages/fitkit/__init__.py", 5),
                                     Python("<module>", "/home/me/train.py", 42)};
  const SitePath path = PathToAllocation(StackOf(frames), &frames[4], true);
  ASSERT_NE(path.library, nullptr);
  EXPECT_EQ(path.library->function, "pad");
  EXPECT_FALSE(path.is_import);
}

TEST(SitePathTest, AnImportBetweenTheUsersLineAndTheAllocationIsAnImport) {
  const std::vector<Frame> frames = {Python("<module>", "/v/site-packages/torch/__init__.py", 2),
                                     Python("_find_and_load", "<frozen importlib._bootstrap>", 1),
                                     Python("<module>", "/home/me/train.py", 1)};
  EXPECT_TRUE(PathToAllocation(StackOf(frames), &frames[2], true).is_import);
}

TEST(SitePathTest, WhatAnImportedModuleOfTheUsersAllocatesIsItsOwn) {
  const std::vector<Frame> frames = {Python("<module>", "/home/me/tables.py", 7),
                                     Python("_find_and_load", "<frozen importlib._bootstrap>", 1),
                                     Python("<module>", "/home/me/train.py", 1)};
  EXPECT_FALSE(PathToAllocation(StackOf(frames), &frames[0], true).is_import);
}

TEST(SitePathTest, ASiteOfALibraryIsAnImportsIfACallerImports) {
  const std::vector<Frame> frames = {Python("__getattr__", "/v/site-packages/torch/_ops.py", 1318),
                                     Python("<module>", "/v/site-packages/torch/tensor.py", 5),
                                     Python("_find_and_load", "<frozen importlib._bootstrap>", 1),
                                     {.function = "[truncated: too deep]"}};
  const SitePath path = PathToAllocation(StackOf(frames), &frames[0], false);
  EXPECT_TRUE(path.is_import);
  EXPECT_EQ(path.library, nullptr);
}

TEST(SitePathTest, AStackWithoutTheSiteSaysNothing) {
  const std::vector<Frame> frames = {Python("_find_and_load", "<frozen importlib._bootstrap>", 1)};
  const Frame site = Python("main", "/home/me/train.py", 1);
  EXPECT_FALSE(PathToAllocation(StackOf(frames), &site, true).is_import);
}

}  // namespace
}  // namespace plateau::process
