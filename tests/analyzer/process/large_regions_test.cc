#include "analyzer/process/large_regions.h"

#include <gtest/gtest.h>

namespace plateau::process {
namespace {

series::BundledAllocator Named(const std::string& library, const std::vector<std::string>& functions) {
  series::BundledAllocator allocator;
  allocator.library = library;
  NameAllocator(functions, &allocator);
  return allocator;
}

TEST(LargeRegionsTest, AnAllocatorIsKnownByTheFunctionsNextToItsMap) {
  const auto arrow = Named("libarrow.so.2100", {"unix_mmap", "_mi_prim_alloc", "mi_arena_reserve", "main"});
  EXPECT_EQ(arrow.name, "mimalloc");
  EXPECT_EQ(arrow.Title(), "mimalloc in libarrow.so.2100");
  EXPECT_EQ(arrow.remedy, "ARROW_DEFAULT_MEMORY_POOL=system");
  EXPECT_EQ(Named("polars.abi3.so", {"os_pages_map", "_rjem_je_extent_alloc"}).name, "jemalloc");
  EXPECT_EQ(Named("x.so", {"tcmalloc::tcmalloc_internal::MmapAligned()"}).name, "tcmalloc");
}

TEST(LargeRegionsTest, WithoutSymbolsOnlyTheLibraryIsNamed) {
  const auto unknown = Named("libfoo.so", {"", "foo_open", "mixed_in"});
  EXPECT_EQ(unknown.name, "");
  EXPECT_EQ(unknown.Title(), "an allocator in libfoo.so");
  EXPECT_EQ(unknown.remedy, "");
}

TEST(LargeRegionsTest, GrowthIsAFillWhenNearlyAllOfItArrivedInWhatWasThere) {
  series::SiteReservation site{
      .reserved_bytes = 100, .resident_bytes = 60, .arrived_bytes = 50, .grown_bytes = 52};
  EXPECT_TRUE(site.IsFill());
  EXPECT_EQ(site.room_bytes(), 40);
  site.grown_bytes = 80;  // 30 of them were allocated
  EXPECT_FALSE(site.IsFill());
  site.grown_bytes = 50;
  site.unbounded_bytes = 50;  // in a library's arena, which takes another when that is full
  EXPECT_FALSE(site.IsFill());
  EXPECT_FALSE(series::SiteReservation{}.IsFill());
}

}  // namespace
}  // namespace plateau::process
