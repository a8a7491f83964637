// Packing is lossless: whatever records go in come out, packed blocks are small, and damage is refused.
#include "analyzer/pack/column_codec.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "preload/trace/decoder.h"
#include "tests/support/sample_block.h"

namespace plateau {
namespace {

using trace::Record;
using trace::RecordKind;
using trace::SampleBlock;

// The records of payloads as comparable text.
std::vector<std::string> Texts(uint64_t first_tsc, std::string_view payload) {
  trace::BlockHeader header{};
  header.first_tsc = first_tsc;
  trace::RecordReader reader(header, payload);
  std::vector<std::string> texts;
  Record record;
  size_t start = 0;
  while (reader.Next(&record)) {
    std::string text = std::to_string(static_cast<int>(record.kind)) + " t" + std::to_string(record.tsc);
    const auto add = [&](uint64_t value) { text += " " + std::to_string(value); };
    if (record.kind == RecordKind::kAlloc) {
      add(record.alloc.address), add(record.alloc.bytes), add(record.alloc.stack),
          add(record.alloc.is_realloc);
    } else if (record.kind == RecordKind::kFree) {
      add(record.free.address), add(record.free.is_realloc);
    } else if (record.kind == RecordKind::kAllocIn) {
      add(record.alloc_in.address);
      add(record.alloc_in.bytes), add(record.alloc_in.stack);
    } else if (record.kind == RecordKind::kFreeIn) {
      add(record.free_in.address);
    } else if (record.kind == RecordKind::kNode) {
      add(record.node.node), add(record.node.parent), add(record.node.location);
    } else if (record.kind == RecordKind::kPc) {
      add(record.pc.location), add(record.pc.module), add(record.pc.offset);
    } else if (record.kind == RecordKind::kPythonLocation) {
      add(record.python_location.location), add(record.python_location.code);
      add(record.python_location.offset);
    } else if (record.kind != RecordKind::kTime) {
      text += std::string(payload.substr(start, reader.offset() - start));
    }
    texts.push_back(text);
    start = reader.offset();
  }
  EXPECT_FALSE(reader.damaged());
  return texts;
}

trace::BlockHeader HeaderOf(const PackedColumns& packed) {
  trace::BlockHeader header{};
  header.first_tsc = packed.first_tsc;
  header.raw_bytes = packed.raw_bytes;
  header.record_count = packed.record_count;
  return header;
}

std::string Unpacked(const PackedColumns& packed) {
  const absl::StatusOr<std::string> raw = UnpackColumns(HeaderOf(packed), packed.bytes);
  EXPECT_TRUE(raw.ok()) << raw.status();
  return raw.ok() ? *raw : "";
}

// A stream as a program makes it: nodes, allocations of recurring classes, frees in and out of order, every
// other record.
void FillLikeAProgram(uint64_t seed, SampleBlock* block) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> live;
  uint32_t node = static_cast<uint32_t>(random() % 100);
  uint64_t tsc = 1000;
  for (int i = 0;; ++i) {
    bool ok = true;
    const uint64_t dice = random() % 100;
    if (dice < 3) {
      node += random() % 5 == 0 ? 100 : 1;
      ok = block->writer.Node({node, random() % 3 == 0 ? 0 : node - 1, static_cast<uint32_t>(random() % 50)});
    } else if (dice < 5) {
      const auto id = static_cast<uint32_t>(i);
      ok = random() % 2 == 0 ? block->writer.Pc({id, 1, random() % 100000})
                             : block->writer.PythonLocation({id, 5, static_cast<uint32_t>(random()) % 500});
    } else if (dice < 6) {
      ok = block->writer.Mark({trace::MarkKind::kNote, trace::MarkSource::kExplicit, random(), "note"});
    } else if (dice < 7) {
      ok = block->writer.Time(tsc += random() % 1000);
    } else if (dice < 30) {
      // pymalloc: the addresses of the two heaps may be the same numbers
      const uint64_t address = 0x55550000 + random() % 100 * 16;
      const uint64_t time = random() % 32 == 0 ? tsc += random() % 5000 : 0;
      ok = random() % 2 == 0
               ? block->writer.AllocIn({address, random() % 512, static_cast<uint32_t>(random() % 9)}, time)
               : block->writer.FreeIn({address}, time);
    } else if (dice < 60 || live.empty()) {
      const uint64_t address = random() % 10 == 0 ? random() : 0x55550000 + random() % 1000 * 16;
      ok = block->writer.Alloc(
          {address, 16 + random() % 8 * 100, static_cast<uint32_t>(random() % 9), random() % 20 == 0},
          random() % 32 == 0 ? tsc += random() % 5000 : 0);
      live.push_back(address);
    } else {
      const size_t index = random() % 4 == 0 ? random() % live.size() : live.size() - 1;
      ok = block->writer.Free({random() % 30 == 0 ? random() : live[index], random() % 20 == 0},
                              random() % 32 == 0 ? tsc += random() % 5000 : 0);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if (!ok) return;
  }
}

TEST(ColumnCodecTest, RandomProgramsComeBackRecordForRecord) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SampleBlock block;
    FillLikeAProgram(seed, &block);
    const auto packed = PackColumns({{1000, block.payload()}});
    ASSERT_TRUE(packed.ok()) << packed.status();
    EXPECT_EQ(packed->record_count, block.header().record_count);
    ASSERT_EQ(Texts(1000, Unpacked(*packed)), Texts(1000, block.payload())) << "seed " << seed;
  }
}

TEST(ColumnCodecTest, BlocksOfOneStreamMergeWithATimeStampAtEachSeam) {
  SampleBlock first(1, 0, 1000), second(1, 1, 9000000);
  FillLikeAProgram(1, &first);
  ASSERT_TRUE(second.writer.Free({0x55550000, false}));
  const auto packed = PackColumns({{1000, first.payload()}, {9000000, second.payload()}});
  ASSERT_TRUE(packed.ok());
  const std::vector<std::string> texts = Texts(1000, Unpacked(*packed));
  ASSERT_EQ(texts.size(), first.header().record_count + 2);
  EXPECT_EQ(texts[texts.size() - 2], "4 t9000000");
  EXPECT_EQ(texts.back(), "1 t9000000 1431633920 0");
}

TEST(ColumnCodecTest, ATrainingLoopPacksToAlmostNothing) {
  SampleBlock block;
  for (int step = 0;; ++step) {
    bool ok = true;
    for (uint32_t i = 0; i < 20 && ok; ++i)
      ok = block.writer.Alloc({0x7000000 + i * 4096, 4000 + i, 7 + i, false});
    for (uint32_t i = 20; i > 0 && ok; --i) ok = block.writer.Free({0x7000000 + (i - 1) * 4096, false});
    if (!ok) break;
  }
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok());
  EXPECT_LT(packed->bytes.size() * 20, block.header().record_count);  // less than 0.05 bytes an event
  EXPECT_EQ(Texts(1000, Unpacked(*packed)), Texts(1000, block.payload()));
}

// Objects of three sizes in turn, all kept and then freed in the order they were made.
TEST(ColumnCodecTest, FreesInTheOrderOfBirthCostAlmostNothing) {
  SampleBlock block(1, 0, 1000, 1 << 20);
  constexpr uint64_t kObjects = 50000;
  uint64_t address = 0x55550000;
  std::vector<uint64_t> objects;
  for (uint64_t i = 0; i < kObjects; ++i) {
    const uint64_t bytes = 24 + i % 3 * 40 + i % 37;
    ASSERT_TRUE(block.writer.Alloc({address, bytes, static_cast<uint32_t>(7 + i % 3), false}));
    objects.push_back(address);
    address += std::max<uint64_t>((bytes + 8 + 15) / 16, 2) * 16;
  }
  for (const uint64_t object : objects) ASSERT_TRUE(block.writer.Free({object, false}));
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok());
  EXPECT_LT(packed->bytes.size() * 8 * 20, 2 * kObjects);  // less than a twentieth of a bit an event
  EXPECT_EQ(Texts(1000, Unpacked(*packed)), Texts(1000, block.payload()));
}

// 64 objects, one of them replaced at random each time by one of 61 sizes: 6 bits to say which, 6 for the
// size.
TEST(ColumnCodecTest, RandomChoicesCostTheirInformationAndLittleMore) {
  SampleBlock block(1, 0, 1000, 1 << 20);
  std::mt19937_64 random(1);
  std::vector<std::vector<uint64_t>> freed(64);
  std::vector<std::pair<uint64_t, size_t>> live(64, {0, 0});
  uint64_t next = 0x55550000;
  constexpr int kPairs = 60000;
  for (int i = 0; i < kPairs; ++i) {
    auto& [address, bin] = live[random() % 64];
    if (address != 0) {
      ASSERT_TRUE(block.writer.Free({address, false}));
      freed[bin].push_back(address);
    }
    bin = 1 + random() % 61;
    if (freed[bin].empty()) freed[bin].push_back(next), next += 1024;
    address = freed[bin].back();
    freed[bin].pop_back();
    ASSERT_TRUE(block.writer.Alloc({address, bin * 16, 7, false}));
  }
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok());
  const double information = kPairs * (std::log2(64.0) + std::log2(61.0)) / 8;
  EXPECT_LT(static_cast<double>(packed->bytes.size()), 1.5 * information);
  EXPECT_EQ(Texts(1000, Unpacked(*packed)), Texts(1000, block.payload()));
}

TEST(ColumnCodecTest, CostsOfTheColumnsAddUpToTheBlock) {
  SampleBlock block;
  FillLikeAProgram(3, &block);
  PackCosts costs = {};
  const auto packed = PackColumns({{1000, block.payload()}}, &costs);
  ASSERT_TRUE(packed.ok());
  const uint64_t bytes = std::accumulate(costs.begin(), costs.end(), uint64_t{0});
  EXPECT_EQ(bytes + 1, packed->bytes.size());  // and the version
}

TEST(ColumnCodecTest, BlocksOfALaterVersionAreRefusedInWords) {
  const trace::BlockHeader header{};
  const auto raw = UnpackColumns(header, std::string("\x02\x00", 2));
  EXPECT_EQ(raw.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(raw.status().message().find("this version does not know"), std::string::npos);
}

TEST(ColumnCodecTest, ABlockThatSaysItIsHugeIsRefusedBeforeMemoryIsTaken) {
  trace::BlockHeader header{};
  header.raw_bytes = 1u << 30;
  EXPECT_EQ(UnpackColumns(header, "\x01").status().code(), absl::StatusCode::kDataLoss);
  // A column that says it has more than all records of the block can have.
  header.raw_bytes = 100;
  const std::string column("\x01\x00\xff\xff\x7f\x01\x00", 7);
  EXPECT_EQ(UnpackColumns(header, column).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ColumnCodecTest, RecordsOfUnknownKindsComeBackByteForByte) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Ext(30, "from the future"));
  ASSERT_TRUE(block.writer.Ext(4711, std::string(300, 'x')));
  ASSERT_TRUE(block.writer.Ext(4712, ""));
  ASSERT_TRUE(block.writer.Free({0x40, false}));
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(Unpacked(*packed), block.payload());
}

TEST(ColumnCodecTest, OneBlockComesBackByteForByte) {
  SampleBlock block;
  FillLikeAProgram(11, &block);
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(Unpacked(*packed), block.payload());
}

// Both directions work in memory that served earlier blocks of the thread.
TEST(ColumnCodecTest, ABlockPacksTheSameWhateverWasPackedBefore) {
  SampleBlock small(1, 0, 1000, 6000), large;
  FillLikeAProgram(12, &small);
  FillLikeAProgram(13, &large);
  std::string alone;
  std::thread([&] { alone = PackColumns({{1000, small.payload()}})->bytes; }).join();
  for (int round = 0; round < 3; ++round) {
    const auto packed_large = PackColumns({{1000, large.payload()}});
    const auto packed = PackColumns({{1000, small.payload()}});
    ASSERT_TRUE(packed_large.ok() && packed.ok());
    EXPECT_EQ(packed->bytes, alone);
    EXPECT_EQ(Unpacked(*packed_large), large.payload());
    EXPECT_EQ(Unpacked(*packed), small.payload());
  }
}

// A loop whose steps are alike though nothing within a step is: what is allocated and which object is freed.
TEST(ColumnCodecTest, StepsOfALoopCostLittleAfterTheFirst) {
  const auto steps = [](int count) {
    SampleBlock block(1, 0, 1000, 400000);
    std::vector<uint64_t> unused;
    uint64_t top = 0x55550000;
    for (int step = 0; step < count; ++step) {
      std::mt19937_64 random(7);
      std::vector<uint64_t> live;
      const auto free = [&](size_t index) {
        unused.push_back(live[index]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        EXPECT_TRUE(block.writer.Free({unused.back(), false}));
      };
      for (int i = 0; i < 1000; ++i) {
        if (random() % 2 == 0 || live.empty()) {
          if (unused.empty()) unused.push_back(top += 112);
          live.push_back(unused.back());
          unused.pop_back();
          EXPECT_TRUE(block.writer.Alloc({live.back(), 100, static_cast<uint32_t>(random() % 4), false}));
        } else {
          free(random() % live.size());
        }
      }
      while (!live.empty()) free(random() % live.size());
    }
    const auto packed = PackColumns({{1000, block.payload()}});
    EXPECT_EQ(Texts(1000, Unpacked(*packed)), Texts(1000, block.payload()));
    return packed->bytes.size();
  };
  const size_t one = steps(1), twenty = steps(20);
  EXPECT_GT(one, 500u);
  EXPECT_LT(twenty, 3 * one);
}

TEST(ColumnCodecTest, DamagedInputIsNotPacked) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Alloc({0x10000, 10001, 7, false}));
  EXPECT_FALSE(PackColumns({{1000, block.payload().substr(0, 2)}}).ok());
  EXPECT_FALSE(PackColumns({}).ok());
}

TEST(ColumnCodecTest, CutsAndFlippedBytesAreSurvived) {
  SampleBlock block(1, 0, 1000, 6000);
  FillLikeAProgram(5, &block);
  const auto packed = PackColumns({{1000, block.payload()}});
  ASSERT_TRUE(packed.ok());
  const trace::BlockHeader header = HeaderOf(*packed);
  for (size_t size = 0; size < packed->bytes.size(); size += 1 + size / 40) {
    EXPECT_FALSE(UnpackColumns(header, packed->bytes.substr(0, size)).ok()) << size;
  }
  for (size_t i = 0; i < packed->bytes.size(); i += 1 + i / 40) {
    std::string damaged = packed->bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x5a);
    const auto raw =
        UnpackColumns(header, damaged);  // the block's checksum notices; here it must only not crash
    if (raw.ok()) {
      EXPECT_LE(raw->size(), 16 * header.raw_bytes + 1024);
    }
  }
}

}  // namespace
}  // namespace plateau
