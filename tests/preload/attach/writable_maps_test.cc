#include "preload/attach/writable_maps.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace plateau {
namespace {

uintptr_t AddressOf(const void* p) { return reinterpret_cast<uintptr_t>(p); }

TEST(WritableMaps, KnowsWhatCanBeWrittenTo) {
  char* pages =
      static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + 4096, 4096, PROT_READ), 0);
  const WritableMaps maps;
  ASSERT_TRUE(maps.is_known());
  EXPECT_TRUE(maps.Contains(AddressOf(pages)));
  EXPECT_TRUE(maps.Contains(AddressOf(pages) + 4095));
  EXPECT_FALSE(maps.Contains(AddressOf(pages) + 4096));
  EXPECT_TRUE(maps.Contains(AddressOf(pages) + 8192));
  EXPECT_FALSE(maps.Contains(AddressOf(reinterpret_cast<const void*>(&AddressOf))));
  EXPECT_FALSE(maps.Contains(0));
  munmap(pages, 3 * 4096);
}

class MapsFile {
 public:
  explicit MapsFile(const std::string& text) {
    const int fd = mkstemp(path_);
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(fd);
  }
  ~MapsFile() { unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/writable_maps_XXXXXX";
};

TEST(WritableMaps, PathsThatAreLongerThanTheBufferHideNoLine) {
  std::string text = "1000-2000 rw-p 00000000 00:00 0 /" + std::string(9000, 'w') + "\n";
  text += "2000-3000 r--p 00000000 00:00 0 /" + std::string(4095, ' ') + "rw-p\n";
  for (int i = 0; i < 300; ++i) {
    char line[64];
    snprintf(line, sizeof(line), "%x-%x rw-p 00000000 00:00 0\n", 0x10000 + i * 0x2000, 0x11000 + i * 0x2000);
    text += line;
  }
  const MapsFile file(text);
  const WritableMaps maps(file.path());
  ASSERT_TRUE(maps.is_known());
  EXPECT_TRUE(maps.Contains(0x1800));
  EXPECT_FALSE(maps.Contains(0x2000));
  for (uintptr_t i = 0; i < 300; ++i) {
    EXPECT_TRUE(maps.Contains(0x10fff + i * 0x2000)) << i;
    EXPECT_FALSE(maps.Contains(0x11000 + i * 0x2000)) << i;
  }
}

TEST(WritableMaps, WithoutTheFileNothingIsKnown) {
  const WritableMaps maps("/nonexistent/maps");
  EXPECT_FALSE(maps.is_known());
}

}  // namespace
}  // namespace plateau
