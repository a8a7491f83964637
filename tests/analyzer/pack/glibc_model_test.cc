// The imitation hands out the addresses that glibc's malloc hands out.
#include "analyzer/pack/glibc_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace plateau {
namespace {

constexpr uint64_t kStart = 0x55550010;

// Calls the model as a program calls malloc.
class Program {
 public:
  Program() { model_.Correct({}, false, kStart, 0x1000); }  // the first object tells where the heap is

  uint64_t Malloc(uint64_t bytes) {
    const uint64_t need = GlibcModel::ChunkBytes(bytes);
    const uint64_t cached = model_.Cached(need, false);
    if (cached == 0) return Calloc(bytes);
    model_.TakeCached(need);
    return cached;
  }
  uint64_t Calloc(uint64_t bytes) { return model_.Take(GlibcModel::ChunkBytes(bytes), false).address(); }
  void Free(uint64_t address, uint64_t bytes) {
    model_.OnFree(address, GlibcModel::ChunkBytes(bytes), false);
  }
  uint64_t Realloc(uint64_t address, uint64_t old_bytes, uint64_t bytes) {
    model_.OnFree(address, GlibcModel::ChunkBytes(old_bytes), true);
    return model_.Take(GlibcModel::ChunkBytes(bytes), true).address();
  }
  std::vector<uint64_t> MallocMany(int count, uint64_t bytes) {
    std::vector<uint64_t> addresses;
    for (int i = 0; i < count; ++i) addresses.push_back(Malloc(bytes));
    return addresses;
  }

 private:
  GlibcModel model_;
};

TEST(GlibcModelTest, NewObjectsLieBehindEachOther) {
  Program program;
  EXPECT_EQ(program.Malloc(24), kStart + 0x1000);
  EXPECT_EQ(program.Malloc(25), kStart + 0x1020);
  EXPECT_EQ(program.Malloc(1), kStart + 0x1050);
  EXPECT_EQ(program.Malloc(100000), kStart + 0x1070);
  EXPECT_EQ(program.Malloc(100000), kStart + 0x1070 + 100016);  // the heap has grown
}

TEST(GlibcModelTest, TheCacheHandsOutTheLastOneFirstAndCallocDoesNotAskIt) {
  Program program;
  const std::vector<uint64_t> objects = program.MallocMany(3, 100);
  for (const uint64_t object : objects) program.Free(object, 100);
  EXPECT_EQ(program.Calloc(100), objects[2] + 112);
  EXPECT_EQ(program.Malloc(100), objects[2]);
  EXPECT_EQ(program.Malloc(100), objects[1]);
}

TEST(GlibcModelTest, FastBinsFillTheCacheInReverse) {
  Program program;
  const std::vector<uint64_t> objects = program.MallocMany(10, 24);
  for (const uint64_t object : objects) program.Free(object, 24);
  for (int i = 6; i >= 0; --i) EXPECT_EQ(program.Malloc(24), objects[static_cast<size_t>(i)]);
  for (const size_t i : {9, 7, 8}) EXPECT_EQ(program.Malloc(24), objects[i]);
}

TEST(GlibcModelTest, NeighboursMergeAndAreCutAgain) {
  Program program;
  const std::vector<uint64_t> objects = program.MallocMany(10, 500);
  (void)program.Malloc(24);  // keeps them from the end of the heap
  for (const uint64_t object : objects) program.Free(object, 500);
  // Seven are in the cache, the last three are one chunk of 1536 bytes.
  EXPECT_EQ(program.Malloc(600), objects[7]);
  EXPECT_EQ(program.Malloc(40), objects[7] + 608);
  EXPECT_EQ(program.Malloc(1000), kStart + 0x1000 + 5120 + 32);
}

TEST(GlibcModelTest, LargeChunksFitAsWellAsTheyCan) {
  Program program;
  const uint64_t large = program.Malloc(9000), wall = program.Malloc(24), small = program.Malloc(5000);
  (void)program.Malloc(24);
  program.Free(large, 9000);
  program.Free(small, 5000);
  EXPECT_EQ(program.Malloc(4000), small);
  EXPECT_EQ(program.Malloc(8000), large);
  EXPECT_NE(program.Malloc(24), wall);
}

TEST(GlibcModelTest, ReallocStaysWhereItCan) {
  Program program;
  const uint64_t first = program.Malloc(2000), second = program.Malloc(2000);
  EXPECT_EQ(program.Realloc(second, 2000, 50000), second);  // into the end of the heap
  EXPECT_EQ(program.Realloc(second, 50000, 3000), second);
  EXPECT_EQ(program.Realloc(first, 2000, 4000), second + 3008);
  EXPECT_EQ(program.Malloc(1900), first);
}

TEST(GlibcModelTest, AnUnforeseenAddressIsLearntFrom) {
  GlibcModel model;
  model.Correct({}, false, kStart, 112);
  const GlibcModel::Chunk refused = model.Take(112, false);
  model.Correct(refused, false, kStart + 5000 * 16, 112);
  EXPECT_EQ(model.Take(112, false).address(), kStart + 5000 * 16 + 112);
  model.OnFree(12345, 4096, false);  // makes no sense and changes nothing
  model.OnFree(0, UINT64_MAX, false);
  EXPECT_EQ(model.Take(112, false).address(), kStart + 5000 * 16 + 224);
}

// A new thread has a heap of its own, so nothing else happens there.
TEST(GlibcModelTest, TheMallocOfThisProcessIsForeseen) {
#if !defined(__GLIBC__) || __GLIBC_MINOR__ < 34 || __GLIBC_MINOR__ > 36 || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another malloc";
#endif
  constexpr int kEvents = 50000;
  struct Event {
    uint64_t address;
    uint32_t bytes;  // 0: it is freed
  };
  std::vector<Event> events(kEvents);
  std::thread([&events] {
    std::mt19937 random(1);  // allocates nothing
    std::array<void*, 500> objects = {};
    for (Event& event : events) {
      void*& object = objects[random() % objects.size()];
      event = {reinterpret_cast<uint64_t>(object), 0};
      if (object != nullptr) {
        free(object);
        object = nullptr;
      } else {
        event.bytes = 1 + random() % (random() % 4 == 0 ? 3000 : 200);
        object = malloc(event.bytes);
        event.address = reinterpret_cast<uint64_t>(object);
      }
    }
    for (void* object : objects) free(object);
  }).join();
  GlibcModel model;
  std::unordered_map<uint64_t, uint64_t> chunks;
  int missed = 0;
  for (const Event& event : events) {
    if (event.bytes == 0) {
      model.OnFree(event.address, chunks[event.address], false);
      continue;
    }
    const uint64_t need = GlibcModel::ChunkBytes(event.bytes);
    const uint64_t cached = model.Cached(need, false);
    uint64_t& chunk_bytes = chunks[event.address] = need;
    if (cached == event.address) {
      model.TakeCached(need);
    } else if (const GlibcModel::Chunk chunk = model.Take(need, false); chunk.address() == event.address) {
      chunk_bytes = chunk.bytes;
    } else {
      model.Correct(chunk, cached != 0, event.address, need);
      ++missed;
    }
  }
  EXPECT_LT(missed, kEvents / 100);
}

}  // namespace
}  // namespace plateau
