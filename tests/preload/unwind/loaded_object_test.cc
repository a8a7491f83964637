#include "preload/unwind/loaded_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "preload/base/clock.h"

namespace plateau::unwind {
namespace {

// The C library's own look-up is switched off: what glibc before 2.35 has.
class WithoutFindObjectTest : public testing::Test {
 protected:
  void SetUp() override {
    StartClock();
    UseSnapshotsForTest(true);
  }
  void TearDown() override { UseSnapshotsForTest(false); }
};

struct Plugin {
  explicit Plugin(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    address = handle != nullptr ? reinterpret_cast<uintptr_t>(dlsym(handle, "PluginCall")) : 0;
  }
  void Unload() {
    dlclose(handle);
    RefreshObjectSnapshot();
  }
  void* handle;
  uintptr_t address = 0;
};

std::string BuildIdText(const LoadedObject& object) {
  const ByteSpan id = BuildId(object);
  return std::string(reinterpret_cast<const char*>(id.begin), id.size());
}

void ExpectSame(const LoadedObject& found, const LoadedObject& wanted) {
  EXPECT_EQ(found.begin, wanted.begin);
  EXPECT_EQ(found.end, wanted.end);
  EXPECT_EQ(found.load_bias, wanted.load_bias);
  EXPECT_EQ(found.eh_frame_hdr, wanted.eh_frame_hdr);
  EXPECT_EQ(BuildIdText(found), BuildIdText(wanted));
}

TEST_F(WithoutFindObjectTest, ALibraryThatWasLoadedLaterIsFoundAsTheLoaderDescribesIt) {
  for (const char* path : {PLATEAU_PLUGIN_SMALL, PLATEAU_PLUGIN_LARGE}) {  // the large one has holes
    SCOPED_TRACE(path);
    Plugin plugin(path);
    ASSERT_NE(plugin.address, 0u) << dlerror();
    LoadedObject found, known, by_loader;
    EXPECT_FALSE(FindKnownObject(plugin.address, &known));
    ASSERT_TRUE(FindLoadedObject(plugin.address, &found));
    EXPECT_EQ(std::string(found.path), path);
    EXPECT_TRUE(FindKnownObject(plugin.address, &known)) << "it was found and is remembered";
    RefreshObjectSnapshot();
    ASSERT_TRUE(FindKnownObject(plugin.address, &by_loader));
    ExpectSame(found, by_loader);
    EXPECT_EQ(found.identity, by_loader.identity) << "it must not look like another object after a refresh";
    plugin.Unload();
    EXPECT_FALSE(FindKnownObject(plugin.address, &known));
  }
}

TEST_F(WithoutFindObjectTest, GeneratedCodeBelongsToNoObject) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LoadedObject found;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(FindLoadedObject(reinterpret_cast<uintptr_t>(code) + 16, &found));
  munmap(code, 4096);
  EXPECT_FALSE(FindLoadedObject(16, &found));
}

uint64_t AddressSpacePages() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST_F(WithoutFindObjectTest, LoadingAndUnloadingForeverTakesNoAddressSpace) {
  uint64_t before = 0;
  for (int i = 0; i < 300; ++i) {
    if (i == 10) before = AddressSpacePages();
    Plugin plugin(i % 2 == 0 ? PLATEAU_PLUGIN_SMALL : PLATEAU_PLUGIN_LARGE);
    LoadedObject found;
    ASSERT_TRUE(FindLoadedObject(plugin.address, &found)) << i;
    ASSERT_EQ(std::string(found.path), i % 2 == 0 ? PLATEAU_PLUGIN_SMALL : PLATEAU_PLUGIN_LARGE) << i;
    plugin.Unload();
    ASSERT_FALSE(FindKnownObject(plugin.address, &found)) << i;
  }
  EXPECT_LT(AddressSpacePages(), before + 64);
}

TEST_F(WithoutFindObjectTest, ThreadsFindTheirCodeWhileOthersLoadAndUnload) {
  const auto own = reinterpret_cast<uintptr_t>(&AddressSpacePages);
  std::atomic<bool> has_ended{false};
  std::atomic<int> wrong{0}, looked_up{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      LoadedObject first, found;
      FindLoadedObject(own, &first);
      while (!has_ended) {
        const bool is_found = FindLoadedObject(own, &found);
        // Between two refreshes that came at once a look-up may miss; it never finds something else.
        if (is_found && (found.begin != first.begin || found.end != first.end)) ++wrong;
        ++looked_up;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    Plugin plugin(PLATEAU_PLUGIN_SMALL);
    LoadedObject found;
    FindLoadedObject(plugin.address, &found);
    plugin.Unload();
  }
  has_ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(looked_up, 0);
}

TEST_F(WithoutFindObjectTest, AForkedChildFindsNewLibrariesThoughAWriterStayedBehind) {
  std::atomic<bool> has_ended{false};
  std::thread writer([&] {
    LoadedObject found;
    for (uintptr_t page = 1; !has_ended; ++page) FindLoadedObject(page << 12, &found);
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      ReleaseObjectLookupAfterFork();
      Plugin plugin(PLATEAU_PLUGIN_SMALL);
      LoadedObject found;
      _exit(FindLoadedObject(plugin.address, &found) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << i;
  }
  has_ended = true;
  writer.join();
}

}  // namespace
}  // namespace plateau::unwind
