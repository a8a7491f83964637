#include "preload/base/page_size.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace plateau {
namespace {

TEST(PageSizeTest, IsTheKernels) {
  EXPECT_EQ(PageBytes(), static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_LE(PageBytes(), kLargestPageBytes);
  EXPECT_EQ(kLargestPageBytes % PageBytes(), 0u);
}

}  // namespace
}  // namespace plateau
