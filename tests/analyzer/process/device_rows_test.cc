// Which device memory is judged, and what counts as used of a reserved pool.
#include "analyzer/process/device_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plateau::process {
namespace {

using replay::DeviceObject;
using replay::DevicePool;
using testing::ElementsAre;

constexpr DevicePool kReserved{DevicePool::Kind::kReserved, 0};
constexpr DevicePool kTensors{DevicePool::Kind::kTensors, 0};
constexpr DevicePool kPinned{DevicePool::Kind::kPinned, -1};

class DeviceRowsTest : public testing::Test {
 protected:
  DeviceRowsTest() {
    definitions_.nodes.Resize(1);
    sites_ = std::make_unique<replay::SiteTable>(&definitions_, replay::SiteTableOptions());
    rows_ = std::make_unique<DeviceRows>(&definitions_, sites_.get(), &series_, &tensors_, kLast);
  }

  static DeviceObject Object(DevicePool pool, uint64_t bytes, uint32_t bucket) {
    DeviceObject object;
    object.pool = pool;
    object.device = 0;
    object.bytes = bytes;
    object.birth_bucket = bucket;
    return object;
  }
  const verdict::PoolCurve& CurveOf(const std::string& name) {
    curves_ = rows_->Curves(kLast);
    for (const verdict::PoolCurve& curve : curves_) {
      if (curve.name == name) return curve;
    }
    ADD_FAILURE() << "no pool " << name;
    return curves_.front();
  }
  // Bytes the series of all sites have seen: what verdicts on sites are made from.
  double Judged() {
    series_.Finish(kLast);
    double bytes = 0;
    for (size_t site = 0; site < series_.site_count(); ++site) {
      series::SiteSeries series;
      series_.Load(site, &series);
      for (const double born : series.alloc_bytes) bytes += born;
    }
    return bytes;
  }

  static constexpr uint32_t kLast = 3;
  replay::Definitions definitions_;
  std::unique_ptr<replay::SiteTable> sites_;
  series::SeriesAccumulator series_;
  series::TensorSeries tensors_;
  std::unique_ptr<DeviceRows> rows_;
  std::vector<verdict::PoolCurve> curves_;
};

TEST_F(DeviceRowsTest, PoolsAreNamedByDeviceAndKind) {
  rows_->OnBorn(Object(kReserved, 100, 1));
  rows_->OnBorn(Object(kTensors, 10, 1));
  rows_->OnBorn(Object(kPinned, 1, 1));
  std::vector<std::string> names;
  for (const verdict::PoolCurve& curve : rows_->Curves(kLast)) names.push_back(curve.name);
  EXPECT_THAT(names, ElementsAre("device 0 reserved", "device 0 tensors", "pinned"));
}

TEST_F(DeviceRowsTest, SegmentsOfTorchAreCountedAndNotJudged) {
  DeviceObject segment = Object(kReserved, 1000, 1);
  segment.is_torch_segment = true;
  rows_->OnBorn(segment);
  EXPECT_EQ(rows_->rows()[0].live_bytes, 1000);
  EXPECT_EQ(Judged(), 0);
}

TEST_F(DeviceRowsTest, MemoryOfGraphsIsCountedAndNotJudged) {
  DeviceObject private_memory = Object(kTensors, 1000, 1);
  private_memory.is_graph_private = true;
  rows_->OnBorn(private_memory);
  EXPECT_EQ(rows_->rows()[0].live_bytes, 1000);
  EXPECT_EQ(Judged(), 0);
}

TEST_F(DeviceRowsTest, TensorsAndMemoryOfOthersAreJudged) {
  rows_->OnBorn(Object(kTensors, 1000, 1));
  rows_->OnBorn(Object(kReserved, 50, 1));
  EXPECT_EQ(Judged(), 1050);
}

TEST_F(DeviceRowsTest, UsedOfAReservedPoolIsTensorsAndWhatIsNotTorchs) {
  DeviceObject segment = Object(kReserved, 1000, 0);
  segment.is_torch_segment = true;
  rows_->OnBorn(segment);
  rows_->OnBorn(Object(kReserved, 50, 1));
  rows_->OnBorn(Object(kTensors, 300, 1));
  const DeviceObject temporary = Object(kTensors, 200, 2);
  rows_->OnBorn(temporary);
  rows_->OnDied(temporary, 2);
  const verdict::PoolCurve& reserved = CurveOf("device 0 reserved");
  EXPECT_THAT(reserved.reserved, ElementsAre(1000, 1050, 1050, 1050));
  EXPECT_THAT(reserved.live, ElementsAre(0, 350, 350, 350));
  EXPECT_EQ(reserved.live_peak[2], 550);
  EXPECT_THAT(CurveOf("device 0 tensors").live, ElementsAre(0, 300, 300, 300));
}

TEST_F(DeviceRowsTest, AReservedPoolWithoutTorchIsItsOwnUse) {
  rows_->OnBorn(Object(kReserved, 50, 1));
  EXPECT_THAT(CurveOf("device 0 reserved").live, ElementsAre(0, 50, 50, 50));
  EXPECT_TRUE(CurveOf("device 0 reserved").reserved.empty());
}

TEST_F(DeviceRowsTest, WhatDiesInTheTeardownIsRetained) {
  const DeviceObject kept = Object(kTensors, 300, 1);
  rows_->OnBorn(kept);
  rows_->OnDied(kept, kLast + 1);
  EXPECT_EQ(rows_->rows()[0].live_bytes, 300);
  EXPECT_EQ(tensors_.Levels(rows_->rows()[0].site, 1, kLast).count.back(), 1);
}

TEST_F(DeviceRowsTest, WhatADriverGaveToALibraryHasARowOfItsOwn) {
  rows_->OnBorn(Object(kReserved, 50, 1));
  DeviceObject librarys = Object(kReserved, 60, 1);
  librarys.is_from_driver = true;
  rows_->OnBorn(librarys);
  DeviceObject expandable = Object(kReserved, 70, 1);
  expandable.is_from_driver = true;
  expandable.is_torch_segment = true;
  rows_->OnBorn(expandable);
  ASSERT_EQ(rows_->rows().size(), 2u);
  EXPECT_EQ(rows_->rows()[0].live_bytes, 120);
  EXPECT_EQ(rows_->rows()[1].live_bytes, 60);
}

}  // namespace
}  // namespace plateau::process
