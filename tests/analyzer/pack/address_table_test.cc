// The packer's table of addresses, while it grows and when its memory serves again.
#include "analyzer/pack/address_table.h"

#include "gtest/gtest.h"

namespace plateau {
namespace {

uint64_t AddressOf(uint32_t i) { return 0x7f0000000000 + uint64_t{i} * 48; }

TEST(AddressTableTest, KeepsWhatIsKnownWhileItGrows) {
  AddressTable::Memory memory;
  AddressTable table(&memory);
  constexpr uint32_t kMany = 100'000;
  for (uint32_t i = 1; i <= kMany; ++i) {
    AddressTable::Slot* const slot = table.At(AddressOf(i));
    EXPECT_EQ(slot->object, 0u);
    slot->object = i;
    slot->is_alive = i % 2;
    slot->freed = 2 * i;
  }
  for (uint32_t i = 1; i <= kMany; ++i) {
    const AddressTable::Slot* const slot = table.At(AddressOf(i));
    ASSERT_EQ(slot->object, i);
    ASSERT_EQ(slot->is_alive, i % 2);
    ASSERT_EQ(slot->freed, 2 * i);
  }
}

TEST(AddressTableTest, MemoryOfAnEarlierTableIsAsGoodAsNew) {
  AddressTable::Memory memory;
  for (const uint32_t count : {50'000u, 10u, 50'000u, 10u}) {
    AddressTable table(&memory);
    for (uint32_t i = 0; i < count; ++i) {
      AddressTable::Slot* const slot = table.At(AddressOf(i));
      ASSERT_EQ(slot->object, 0u) << "in a table of " << count;
      ASSERT_EQ(slot->freed, 0u);
      slot->object = 1;
      slot->freed = 1;
    }
  }
}

TEST(AddressTableTest, NothingIsKnownOfAddressZero) {
  AddressTable::Memory memory;
  AddressTable table(&memory);
  table.At(0)->object = 5;
  EXPECT_EQ(table.At(0)->object, 0u);
}

}  // namespace
}  // namespace plateau
