// The quick walks over a block give what Next() gives, one record after the other: whole blocks, cut ones,
// and blocks whose bytes were changed.
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "tests/support/sample_block.h"

namespace plateau::trace {
namespace {

using Walk = RecordReader::Walk;

// What a walk gave: events in full, nodes, and of everything else the kind and the time.
struct Seen {
  using Row = std::tuple<RecordKind, uint64_t, bool, uint64_t, uint64_t, uint64_t>;
  std::vector<Row> rows;
  bool is_damaged = false;
  size_t offset = 0;

  void Add(const HotRecord& r) {
    rows.emplace_back(r.kind, r.tsc, r.has_time, r.address, r.bytes, uint64_t{r.stack} << 1 | r.is_realloc);
  }
  void Add(const NodeRecord& n) {
    rows.emplace_back(RecordKind::kNode, 0, false, n.node, n.parent, n.location);
  }
  void Add(const Record& r) {
    switch (r.kind) {
      case RecordKind::kAlloc:
        return Add(
            {r.tsc, r.alloc.address, r.alloc.bytes, r.alloc.stack, r.kind, r.alloc.is_realloc, r.has_time});
      case RecordKind::kFree:
        return Add({r.tsc, r.free.address, 0, 0, r.kind, r.free.is_realloc, r.has_time});
      case RecordKind::kAllocIn:
        return Add(
            {r.tsc, r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, r.kind, false, r.has_time});
      case RecordKind::kFreeIn:
        return Add({r.tsc, r.free_in.address, 0, 0, r.kind, false, r.has_time});
      case RecordKind::kNode:
        return Add(r.node);
      default:
        rows.emplace_back(r.kind, r.tsc, r.has_time, 0, 0, 0);
    }
  }
  void End(const RecordReader& reader) {
    is_damaged = reader.damaged();
    offset = reader.offset();
  }
  // Without what a walk leaves out.
  Seen WithoutNodes() const {
    Seen seen{{}, is_damaged, offset};
    for (const Row& row : rows) {
      if (std::get<0>(row) != RecordKind::kNode) seen.rows.push_back(row);
    }
    return seen;
  }
  Seen WithTimesAlone() const {
    Seen seen = *this;
    for (Row& row : seen.rows) {
      const RecordKind kind = std::get<0>(row);
      if (kind == RecordKind::kAlloc || kind == RecordKind::kFree)
        row = {kind, std::get<1>(row), std::get<2>(row), 0, 0, 0};
      if (kind == RecordKind::kAllocIn) std::get<5>(row) = 0;
    }
    return seen;
  }
  bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.rows.size() << " records, " << (seen.is_damaged ? "damaged" : "whole") << " at "
             << seen.offset;
}

Seen OneByOne(const BlockHeader& header, std::string_view payload) {
  RecordReader reader(header, payload);
  Seen seen;
  Record record;
  while (reader.Next(&record)) seen.Add(record);
  seen.End(reader);
  return seen;
}

template <typename Join, Walk kWalk>
Seen ByWalk(const BlockHeader& header, std::string_view payload) {
  RecordReader reader(header, payload);
  Seen seen;
  Record record;
  while (true) {
    reader.TakeHotBy<Join, kWalk>([&](const HotRecord& hot) { seen.Add(hot); });
    if (kWalk == Walk::kTimes && reader.TakeNodes([&](const NodeRecord& node) { seen.Add(node); })) continue;
    if (!reader.Next(&record)) break;
    seen.Add(record);
  }
  seen.End(reader);
  return seen;
}

template <typename Join>
void ExpectEqualWalksBy(const BlockHeader& header, std::string_view payload) {
  const Seen expected = OneByOne(header, payload);
  ASSERT_EQ((ByWalk<Join, Walk::kHot>(header, payload)), expected);
  ASSERT_EQ((ByWalk<Join, Walk::kTimes>(header, payload).WithTimesAlone()), expected.WithTimesAlone());
  const Seen events = ByWalk<Join, Walk::kEvents>(header, payload);
  ASSERT_EQ(events, expected.WithoutNodes());
}

void ExpectEqualWalks(const BlockHeader& header, std::string_view payload) {
  ASSERT_NO_FATAL_FAILURE(ExpectEqualWalksBy<JoinByShifts>(header, payload));
  if (!HasPext()) return;
  ASSERT_NO_FATAL_FAILURE(ExpectEqualWalksBy<JoinByPext>(header, payload));
}

// Nodes of a random call tree, as deep as a path can be remembered and deeper, between events of all kinds.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  void Write(SampleBlock* block, int records) {
    for (int i = 0; i < records; ++i) WriteOne(block);
  }

 private:
  void WriteOne(SampleBlock* block) {
    BlockWriter& writer = block->writer;
    const uint64_t tsc = random_() % 9 == 0 ? 1000 + (time_ += random_() % 5000) : 0;
    const auto stack = static_cast<uint32_t>(path_.empty() ? 0 : path_.back());
    switch (random_() % 12) {
      case 0:
        ASSERT_TRUE(writer.Free({Address(), random_() % 4 == 0}, tsc));
        break;
      case 1:
        ASSERT_TRUE(writer.AllocIn({Address(), random_() % 512, stack}, tsc));
        break;
      case 2:
        ASSERT_TRUE(writer.FreeIn({Address()}, tsc));
        break;
      case 3:
        ASSERT_TRUE(writer.Pc({++location_, 3, random_() >> (random_() % 64)}));
        break;
      case 4:
        ASSERT_TRUE(writer.Unmap({Address(), 4096}));
        break;
      case 5:
      case 6:
        ASSERT_TRUE(writer.Alloc({Address(), random_() >> (random_() % 64), stack, random_() % 6 == 0}, tsc));
        break;
      default:
        Call(&writer);
    }
  }
  void Call(BlockWriter* writer) {
    const size_t most = random_() % 50 == 0 ? path_.size() : std::min<size_t>(path_.size(), 12);
    path_.resize(path_.size() - random_() % (most + 1));
    if (random_() % 40 == 0) id_ += static_cast<uint32_t>(random_() % 1000);  // another thread's numbers
    const int depth = random_() % 30 == 0 ? 150 : static_cast<int>(random_() % 9);
    for (int i = 0; i < depth; ++i) {
      const uint32_t parent = path_.empty() ? 0 : path_.back();
      const uint32_t location = random_() % 8 == 0 ? static_cast<uint32_t>(random_()) : 1 + parent % 50;
      ASSERT_TRUE(writer->Node({++id_, parent, location}));
      path_.push_back(id_);
    }
  }
  uint64_t Address() {
    return random_() % 20 == 0 ? random_()
                               : 0x7f0000000000 + random_() % 300 * (random_() % 30 == 0 ? 8 : 16);
  }

  std::mt19937_64 random_;
  std::vector<uint32_t> path_;
  uint32_t id_ = 0;
  uint32_t location_ = 0;
  uint64_t time_ = 0;
};

TEST(QuickReadingTest, WalksGiveWhatIsThere) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SampleBlock block;
    Program(seed).Write(&block, 1500);
    ASSERT_FALSE(OneByOne(block.header(), block.payload()).is_damaged);
    ExpectEqualWalks(block.header(), block.payload());
  }
}

TEST(QuickReadingTest, WalksEndWhereABlockIsCut) {
  SampleBlock block;
  Program(77).Write(&block, 400);
  for (size_t size = 0; size < block.payload().size(); ++size) {
    ASSERT_NO_FATAL_FAILURE(ExpectEqualWalks(block.header(), block.payload().substr(0, size))) << size;
  }
}

TEST(QuickReadingTest, WalksStopAtTheSameDamage) {
  std::mt19937_64 random(3);
  int damaged = 0;
  for (int round = 0; round < 3000; ++round) {
    SampleBlock block;
    Program(random()).Write(&block, 60);
    std::string payload(block.payload());
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      payload[random() % payload.size()] = static_cast<char>(random());
    }
    ASSERT_NO_FATAL_FAILURE(ExpectEqualWalks(block.header(), payload)) << round;
    damaged += OneByOne(block.header(), payload).is_damaged;
  }
  EXPECT_GT(damaged, 300);
}

}  // namespace
}  // namespace plateau::trace
