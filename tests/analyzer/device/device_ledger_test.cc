#include "analyzer/device/device_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "preload/recorder/device_event.h"

namespace plateau::replay {
namespace {

using testing::ElementsAre;

constexpr DevicePool kPinned{DevicePool::Kind::kPinned, -1};
constexpr DevicePool kReserved0{DevicePool::Kind::kReserved, 0};
constexpr DevicePool kTensors0{DevicePool::Kind::kTensors, 0};
constexpr uint64_t kMiB = uint64_t{1} << 20;

// Writes down what it is told, as "+ device 0 reserved 1000 10001" and "- ...".
class Story : public DevicePoolListener {
 public:
  void OnBorn(const DeviceObject& object) override {
    Note("+ ", object);
    torch_segments += object.is_torch_segment ? 1 : 0;
  }
  void OnDied(const DeviceObject& object, uint32_t bucket) override {
    Note("- ", object);
    death_buckets.push_back(bucket);
    birth_buckets.push_back(object.birth_bucket);
    stacks.push_back(object.stack);
  }
  std::vector<std::string> lines;
  int torch_segments = 0;
  std::vector<uint32_t> death_buckets, birth_buckets, stacks;

 private:
  void Note(const char* sign, const DeviceObject& object) {
    lines.push_back(sign + DevicePoolName(object.pool) + " " + std::to_string(object.bytes));
  }
};

class DeviceLedgerTest : public testing::Test {
 protected:
  struct Fields {
    uint64_t address = 0, bytes = 0, handle = 0, total = 0, reserved = 0;
    bool graph = false;
    int32_t device = 0;
    uint32_t stack = 7;
  };
  void Send(uint8_t op, uint8_t memory, Fields fields, uint8_t level = PLATEAU_LEVEL_RUNTIME) {
    const trace::DeviceRecord record{
        op,           level,         memory,       fields.graph,    fields.device, fields.address,
        fields.bytes, fields.handle, fields.total, fields.reserved, fields.stack,  "api"};
    ledger_.Apply(record, ++time_, bucket_);
  }
  void Alloc(uint8_t memory, Fields fields) { Send(PLATEAU_DEVICE_ALLOC, memory, fields); }
  void Free(uint8_t memory, uint64_t address) {
    Send(PLATEAU_DEVICE_FREE, memory, {.address = address, .device = -1});
  }
  void Tensor(uint8_t op, Fields fields) { Send(op, PLATEAU_MEMORY_DEVICE, fields, PLATEAU_LEVEL_TENSOR); }
  uint64_t Live(DevicePool pool) const {
    const auto it = ledger_.pools().find(pool);
    return it == ledger_.pools().end() ? 0 : it->second.live_bytes;
  }

  Story story_;
  DeviceLedger ledger_{&story_};
  uint64_t time_ = 0;
  uint32_t bucket_ = 0;
};

TEST_F(DeviceLedgerTest, EveryKindOfMemoryGoesToItsPool) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 1});
  Alloc(PLATEAU_MEMORY_MANAGED, {.address = 0x2000, .bytes = 20});
  Alloc(PLATEAU_MEMORY_ASYNC, {.address = 0x3000, .bytes = 300});
  Alloc(PLATEAU_MEMORY_ARRAY, {.address = 0x1000, .bytes = 4000});  // an array's handle is no address
  Alloc(PLATEAU_MEMORY_PINNED, {.address = 0x5000, .bytes = 50000});
  Alloc(PLATEAU_MEMORY_REGISTERED, {.address = 0x6000, .bytes = 600000});
  Alloc(PLATEAU_MEMORY_IMPORTED, {.address = 0x7000, .bytes = 7000000});
  EXPECT_EQ(Live(kReserved0), 4321u);
  EXPECT_EQ(Live(kPinned), 50000u);
  EXPECT_EQ(ledger_.registered_bytes(), 600000u);
  EXPECT_EQ(ledger_.imported_bytes(), 7000000u);
  Free(PLATEAU_MEMORY_ARRAY, 0x1000);
  EXPECT_EQ(Live(kReserved0), 321u);
  Free(PLATEAU_MEMORY_PINNED, 0x5000);
  Free(PLATEAU_MEMORY_REGISTERED, 0x6000);
  Free(PLATEAU_MEMORY_DEVICE, 0x7000);  // cudaFree ends an imported buffer
  EXPECT_EQ(Live(kPinned), 0u);
  EXPECT_EQ(ledger_.registered_bytes(), 0u);
  EXPECT_EQ(ledger_.imported_bytes(), 0u);
  EXPECT_EQ(ledger_.unknown_frees(), 0u);
}

TEST_F(DeviceLedgerTest, FreesOfTheOtherFamilyMatch) {
  Alloc(PLATEAU_MEMORY_ASYNC, {.address = 0x1000, .bytes = 10015});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x2000, .bytes = 10016});
  Free(PLATEAU_MEMORY_DEVICE, 0x1000);
  Free(PLATEAU_MEMORY_ASYNC, 0x2000);
  EXPECT_THAT(story_.lines, ElementsAre("+ device 0 reserved 10015", "+ device 0 reserved 10016",
                                        "- device 0 reserved 10015", "- device 0 reserved 10016"));
  EXPECT_EQ(ledger_.pools().at(kReserved0).peak_bytes, 20031u);
  EXPECT_EQ(ledger_.pools().at(kReserved0).free_count, 2u);
}

TEST_F(DeviceLedgerTest, LostAndUnknownFreesAreCounted) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 100});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 200});
  EXPECT_EQ(Live(kReserved0), 200u);
  EXPECT_EQ(ledger_.lost_frees(), 1u);
  Free(PLATEAU_MEMORY_DEVICE, 0x9000);
  EXPECT_EQ(ledger_.unknown_frees(), 1u);
}

TEST_F(DeviceLedgerTest, ObjectsCarryTheirStackAndBirthToTheirEnd) {
  bucket_ = 3;
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 100, .stack = 42});
  bucket_ = 9;
  Free(PLATEAU_MEMORY_DEVICE, 0x1000);
  EXPECT_THAT(story_.birth_buckets, ElementsAre(3));
  EXPECT_THAT(story_.death_buckets, ElementsAre(9));
  EXPECT_THAT(story_.stacks, ElementsAre(42));
}

TEST_F(DeviceLedgerTest, AnImportOpenedTwiceIsClosedTwice) {
  Alloc(PLATEAU_MEMORY_IMPORTED, {.address = 0x1000, .bytes = 500});
  Alloc(PLATEAU_MEMORY_IMPORTED, {.address = 0x1000, .bytes = 500});
  EXPECT_EQ(ledger_.imported_bytes(), 500u);
  Free(PLATEAU_MEMORY_IMPORTED, 0x1000);
  EXPECT_EQ(ledger_.imported_bytes(), 500u);
  Free(PLATEAU_MEMORY_IMPORTED, 0x1000);
  EXPECT_EQ(ledger_.imported_bytes(), 0u);
}

TEST_F(DeviceLedgerTest, PhysicalMemoryLivesWhileReferencedOrMapped) {
  const auto vmm = [this](uint8_t op, Fields fields) {
    Send(op, PLATEAU_MEMORY_DEVICE, fields, PLATEAU_LEVEL_DRIVER);
  };
  vmm(PLATEAU_DEVICE_RESERVE, {.address = 0x100000, .bytes = 64 * kMiB});
  EXPECT_EQ(Live(kReserved0), 0u) << "address space is no memory";
  vmm(PLATEAU_DEVICE_CREATE, {.bytes = 2 * kMiB, .handle = 5});
  vmm(PLATEAU_DEVICE_MAP, {.address = 0x100000, .bytes = 2 * kMiB, .handle = 5});
  vmm(PLATEAU_DEVICE_RELEASE, {.handle = 5});
  EXPECT_EQ(Live(kReserved0), 2 * kMiB) << "still mapped";
  vmm(PLATEAU_DEVICE_RETAIN, {.handle = 5});
  vmm(PLATEAU_DEVICE_UNMAP, {.address = 0x100000, .bytes = 2 * kMiB});
  EXPECT_EQ(Live(kReserved0), 2 * kMiB) << "still referenced";
  vmm(PLATEAU_DEVICE_RELEASE, {.handle = 5});
  EXPECT_EQ(Live(kReserved0), 0u);
  EXPECT_EQ(ledger_.StateOf(0).address_space_bytes, 64 * kMiB);
  vmm(PLATEAU_DEVICE_UNRESERVE, {.address = 0x100000, .bytes = 64 * kMiB});
  EXPECT_EQ(ledger_.StateOf(0).address_space_bytes, 0u);
}

TEST_F(DeviceLedgerTest, OneUnmapEndsSeveralMappings) {
  for (uint64_t i = 0; i < 3; ++i) {
    Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_DEVICE, {.bytes = 2 * kMiB, .handle = 10 + i});
    Send(PLATEAU_DEVICE_MAP, PLATEAU_MEMORY_DEVICE,
         {.address = 0x100000 + i * 2 * kMiB, .bytes = 2 * kMiB, .handle = 10 + i});
    Send(PLATEAU_DEVICE_RELEASE, PLATEAU_MEMORY_DEVICE, {.handle = 10 + i});
  }
  Send(PLATEAU_DEVICE_UNMAP, PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 4 * kMiB});
  EXPECT_EQ(Live(kReserved0), 2 * kMiB);
}

TEST_F(DeviceLedgerTest, ImportedPhysicalMemoryIsNotCountedAndItsAliasIsAReference) {
  Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_IMPORTED, {.handle = 8, .device = -1});
  EXPECT_TRUE(story_.lines.empty());
  Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_DEVICE, {.bytes = kMiB, .handle = 5});
  Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_IMPORTED, {.handle = 5, .device = -1});
  Send(PLATEAU_DEVICE_RELEASE, PLATEAU_MEMORY_DEVICE, {.handle = 5});
  EXPECT_EQ(Live(kReserved0), kMiB);
  Send(PLATEAU_DEVICE_RELEASE, PLATEAU_MEMORY_DEVICE, {.handle = 5});
  EXPECT_EQ(Live(kReserved0), 0u);
}

TEST_F(DeviceLedgerTest, HostPhysicalMemoryIsPinned) {
  Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_PINNED, {.bytes = kMiB, .handle = 5, .device = -1});
  EXPECT_EQ(Live(kPinned), kMiB);
}

TEST_F(DeviceLedgerTest, TensorsAreASecondViewOfTheSameMemory) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 1024, .total = 1024, .reserved = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100400, .bytes = 512, .total = 1536, .reserved = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_FREE, {.address = 0x100000, .bytes = 1024, .total = 512, .reserved = 2 * kMiB});
  EXPECT_EQ(Live(kReserved0), 2 * kMiB);
  EXPECT_EQ(Live(kTensors0), 512u);
  const TorchCheck* check = ledger_.CheckOf(0);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->compared, 3u);
  EXPECT_EQ(check->mismatches, 0u);
  EXPECT_EQ(check->last_difference, 0);
  EXPECT_EQ(check->blocks_outside_segments, 0u);
  EXPECT_EQ(check->reserved_exceeded, 0u);
}

TEST_F(DeviceLedgerTest, SegmentsThatGetATensorAreTorchs) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x900000, .bytes = 100});  // of an extension
  EXPECT_TRUE(story_.lines.empty()) << "not known yet whose it is";
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 512});
  EXPECT_THAT(story_.lines, ElementsAre("+ device 0 reserved 100", "+ device 0 reserved 2097152",
                                        "+ device 0 tensors 512"));
  EXPECT_EQ(story_.torch_segments, 1);
}

TEST_F(DeviceLedgerTest, PiecesMappedForOneBlockAreTorchs) {
  for (uint64_t i = 0; i < 3; ++i) {
    Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_DEVICE, {.bytes = 0x1000, .handle = 10 + i});
    Send(PLATEAU_DEVICE_MAP, PLATEAU_MEMORY_DEVICE,
         {.address = 0x100000 + i * 0x1000, .bytes = 0x1000, .handle = 10 + i});
  }
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 0x2800});
  EXPECT_EQ(story_.torch_segments, 3);
}

TEST_F(DeviceLedgerTest, WhatIsPendingIsToldWithTheNextBucketAndAtTheEnd) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 100});
  bucket_ = 1;
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x2000, .bytes = 200});
  EXPECT_THAT(story_.lines, ElementsAre("+ device 0 reserved 100"));
  ledger_.Finish();
  EXPECT_THAT(story_.lines, ElementsAre("+ device 0 reserved 100", "+ device 0 reserved 200"));
}

TEST_F(DeviceLedgerTest, AnAttachAtRunTimeIsAConstantDifferenceALostEventAMismatch) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 512, .total = 5512, .reserved = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100200, .bytes = 512, .total = 6024, .reserved = 2 * kMiB});
  EXPECT_EQ(ledger_.CheckOf(0)->first_difference, 5000);
  EXPECT_EQ(ledger_.CheckOf(0)->mismatches, 0u);
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100400, .bytes = 512, .total = 7048, .reserved = 2 * kMiB});
  EXPECT_EQ(ledger_.CheckOf(0)->mismatches, 1u);
}

TEST_F(DeviceLedgerTest, BlocksOutsideSegmentsAndMissingSegmentsAreSaid) {
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 512, .total = 512, .reserved = 2 * kMiB});
  EXPECT_EQ(ledger_.CheckOf(0)->blocks_outside_segments, 1u);
  EXPECT_EQ(ledger_.CheckOf(0)->reserved_exceeded, 1u);
}

TEST_F(DeviceLedgerTest, HolesAreMeasuredInTorchsSegmentsAlone) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 0x1000});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x101000, .bytes = 0x1000});  // touches, yet a segment of its own
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x200000, .bytes = 0x8000});  // of another library
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 0x400});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100800, .bytes = 0x400});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x101000, .bytes = 0x1000});
  DeviceState state = ledger_.StateOf(0);
  EXPECT_EQ(state.reserved_bytes, 0xa000u);
  EXPECT_EQ(state.tensor_bytes, 0x1800u);
  EXPECT_EQ(state.free_in_segments_bytes, 0x800u);
  EXPECT_EQ(state.largest_free_bytes, 0x400u);
  EXPECT_DOUBLE_EQ(state.fragmentation(), 0.5);
  // An emptied segment is still torch's, kept for reuse.
  Tensor(PLATEAU_DEVICE_FREE, {.address = 0x101000, .bytes = 0x1000});
  state = ledger_.StateOf(0);
  EXPECT_EQ(state.free_in_segments_bytes, 0x1800u);
  EXPECT_EQ(state.largest_free_bytes, 0x1000u);
}

TEST_F(DeviceLedgerTest, ABlockMaySpanMappingsThatTouch) {
  for (uint64_t i = 0; i < 2; ++i) {
    Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_DEVICE, {.bytes = 0x1000, .handle = 10 + i});
    Send(PLATEAU_DEVICE_MAP, PLATEAU_MEMORY_DEVICE,
         {.address = 0x100000 + i * 0x1000, .bytes = 0x1000, .handle = 10 + i});
  }
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100800, .bytes = 0x1000});
  const DeviceState state = ledger_.StateOf(0);
  EXPECT_EQ(state.free_in_segments_bytes, 0x1000u);
  EXPECT_EQ(state.largest_free_bytes, 0x800u);
}

TEST_F(DeviceLedgerTest, WhatAGraphHoldsIsMarkedDownToItsTensors) {
  Send(PLATEAU_DEVICE_CAPTURE, PLATEAU_MEMORY_DEVICE, {.bytes = 1, .handle = 1});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 2 * kMiB, .graph = true});
  Send(PLATEAU_DEVICE_CAPTURE, PLATEAU_MEMORY_DEVICE, {.bytes = 0, .handle = 1});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 512});
  EXPECT_EQ(ledger_.pools().at(kReserved0).graph_private_bytes, 2 * kMiB);
  EXPECT_EQ(ledger_.pools().at(kTensors0).graph_private_bytes, 512u);
  EXPECT_EQ(ledger_.captures(), 1u);
  Free(PLATEAU_MEMORY_DEVICE, 0x100000);
  EXPECT_EQ(ledger_.pools().at(kReserved0).graph_private_bytes, 0u);
}

TEST_F(DeviceLedgerTest, AContextTakesOnlyItsOwnMemoryWithIt) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x1000, .bytes = 1, .handle = 0xaa});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x2000, .bytes = 10, .handle = 0xbb});
  Alloc(PLATEAU_MEMORY_PINNED, {.address = 0x3000, .bytes = 100, .handle = 0xaa});
  Send(PLATEAU_DEVICE_RESET, PLATEAU_MEMORY_DEVICE, {.handle = 0xaa});
  EXPECT_EQ(Live(kReserved0), 10u);
  EXPECT_EQ(Live(kPinned), 0u);
}

TEST_F(DeviceLedgerTest, ADeviceResetTakesEverythingOfThatDevice) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = kMiB, .handle = 0xaa});
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x900000, .bytes = 7, .handle = 0xcc, .device = 1});
  Send(PLATEAU_DEVICE_CREATE, PLATEAU_MEMORY_DEVICE, {.bytes = kMiB, .handle = 5});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = 512});
  Send(PLATEAU_DEVICE_RESET, PLATEAU_MEMORY_DEVICE, {});
  EXPECT_EQ(Live(kReserved0), 0u);
  EXPECT_EQ(Live(kTensors0), 0u);
  EXPECT_EQ(Live({DevicePool::Kind::kReserved, 1}), 7u);
  EXPECT_THAT(ledger_.devices(), ElementsAre(0, 1));
}

TEST_F(DeviceLedgerTest, ARefusalKeepsTheStateOfThatMoment) {
  Alloc(PLATEAU_MEMORY_DEVICE, {.address = 0x100000, .bytes = 2 * kMiB});
  Tensor(PLATEAU_DEVICE_ALLOC, {.address = 0x100000, .bytes = kMiB, .total = kMiB, .reserved = 2 * kMiB});
  Send(PLATEAU_DEVICE_OOM, PLATEAU_MEMORY_DEVICE, {.bytes = 99 * kMiB, .stack = 13});
  Free(PLATEAU_MEMORY_DEVICE, 0x100000);
  ASSERT_EQ(ledger_.out_of_memory().size(), 1u);
  const DeviceOutOfMemory& refusal = ledger_.out_of_memory()[0];
  EXPECT_EQ(refusal.bytes, 99 * kMiB);
  EXPECT_EQ(refusal.stack, 13u);
  EXPECT_EQ(refusal.state.reserved_bytes, 2 * kMiB);
  EXPECT_EQ(refusal.state.tensor_bytes, kMiB);
  EXPECT_EQ(refusal.state.torch_reserved_bytes, 2 * kMiB);
  EXPECT_EQ(refusal.state.free_in_segments_bytes, kMiB);
}

TEST_F(DeviceLedgerTest, RefusalsBeyondTheKeptOnesAreCounted) {
  for (size_t i = 0; i < DeviceLedger::kKeptOutOfMemory + 3; ++i) {
    Send(PLATEAU_DEVICE_OOM, PLATEAU_MEMORY_DEVICE, {.bytes = 1});
  }
  EXPECT_EQ(ledger_.out_of_memory().size(), DeviceLedger::kKeptOutOfMemory);
  EXPECT_EQ(ledger_.out_of_memory_count(), DeviceLedger::kKeptOutOfMemory + 3);
}

TEST_F(DeviceLedgerTest, PoolsOfADeviceAreSummedAtTheirLastReading) {
  Send(PLATEAU_DEVICE_POOL, PLATEAU_MEMORY_ASYNC, {.bytes = 32 * kMiB, .handle = 1, .total = kMiB});
  Send(PLATEAU_DEVICE_POOL, PLATEAU_MEMORY_ASYNC, {.bytes = 64 * kMiB, .handle = 1, .total = 2 * kMiB});
  Send(PLATEAU_DEVICE_POOL, PLATEAU_MEMORY_ASYNC, {.bytes = kMiB, .handle = 2, .total = 0});
  EXPECT_EQ(ledger_.StateOf(0).pool_reserved_bytes, 65 * kMiB);
  EXPECT_EQ(ledger_.StateOf(0).pool_used_bytes, 2 * kMiB);
}

TEST_F(DeviceLedgerTest, UnknownOperationsOfANewerTraceAreCounted) {
  Send(99, PLATEAU_MEMORY_DEVICE, {});
  EXPECT_EQ(ledger_.unknown_ops(), 1u);
}

TEST(DevicePoolNameTest, NamesSayDeviceAndLevel) {
  EXPECT_EQ(DevicePoolName(kPinned), "pinned");
  EXPECT_EQ(DevicePoolName({DevicePool::Kind::kReserved, 3}), "device 3 reserved");
  EXPECT_EQ(DevicePoolName({DevicePool::Kind::kTensors, 0}), "device 0 tensors");
  EXPECT_EQ(DevicePoolName({DevicePool::Kind::kReserved, -1}), "device ? reserved");
}

}  // namespace
}  // namespace plateau::replay
