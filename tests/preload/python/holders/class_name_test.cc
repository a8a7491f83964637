#include <gtest/gtest.h>

#include <string>

#include "preload/python/holders/native/graph_walk.h"

namespace plateau::python::holders {
namespace {

std::string Short(const char* name) {
  const ClassName found = ShortClassName(name);
  return std::string(found.text, found.bytes);
}

TEST(ClassNameTest, TheLastPartOfANameIsFound) {
  EXPECT_EQ(Short("N5torch8autograd9generated13ReluBackward0E"), "ReluBackward0");
  EXPECT_EQ(Short("N3c1011StorageImplE"), "StorageImpl");
  EXPECT_EQ(Short("7Plainly"), "Plainly");
}

TEST(ClassNameTest, WhatIsNoNameGivesNone) {
  EXPECT_EQ(Short(""), "");
  EXPECT_EQ(Short("i"), "");
  EXPECT_EQ(Short("N5tor"), "");
  EXPECT_EQ(Short("N99999999999999999999x"), "");
}

}  // namespace
}  // namespace plateau::python::holders
