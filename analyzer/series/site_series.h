// The evidence about one call site: what it allocated and freed in each step, what of each step's births is
// still alive, and how old its objects were when they died.
//
//          birth bucket ->   0   1   2   3   4 ... T        0 = before the first step
//   alloc_bytes              .   #   #   #   #     #        bytes born there
//   free_bytes               .   .   #   #   #     #        bytes that died there
//   surv_bytes               .   #   .   .   .     #        born there and alive at the end: the survivors
//   death_bytes             [age 0 | 1 | 2-3 | 4-7 | ...]   by age at death, in buckets
//
// The survivors by birth step are what tells a leak (spread over all steps) from a warm-up (early ones
// alone), a cache fill (the first pass alone) and steady churn (young ones alone).
//
// A plain value; every array but the death ones has buckets()+1 entries. Counts are weighted when the trace
// was sampled.
#ifndef PLATEAU_ANALYZER_SERIES_SITE_SERIES_H_
#define PLATEAU_ANALYZER_SERIES_SITE_SERIES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau::series {

inline constexpr int kAgeBuckets = 24;  // 0 | 1 | 2-3 | 4-7 | ... | 2^22 and more

// Age bucket of an object that lived `age` steps.
inline int AgeBucket(uint64_t age) {
  const int width = std::bit_width(age);
  return width < kAgeBuckets ? width : kAgeBuckets - 1;
}

// Largest age in bucket j: 0, 1, 3, 7, ...
inline double AgeBucketTop(int j) { return static_cast<double>((uint64_t{1} << j) - 1); }

struct SiteSeries {
  std::vector<double> alloc_bytes;
  std::vector<double> alloc_count;
  std::vector<double> free_bytes;
  std::vector<double> free_count;
  std::vector<double> surv_bytes;
  std::vector<double> surv_count;
  // Records behind the survivors: a sampled block that stands for a thousand is one. Shapes are judged on
  // these, because one heavy record is one observation. Empty: the same as surv_count.
  std::vector<double> surv_records;
  // Variance of surv_bytes that comes from sampling alone (bytes squared). Empty: exact.
  std::vector<double> surv_variance;
  std::array<double, kAgeBuckets> death_bytes{};
  std::array<double, kAgeBuckets> death_count{};

  // Size of the object that a byte allocated during the steps typically belongs to: a site that makes one
  // large and a thousand small ones per step has large ones. 0: unknown, the mean size stands in.
  double object_bytes = 0;

  SiteSeries() = default;
  explicit SiteSeries(size_t bucket_count) { Resize(bucket_count); }

  // Makes every array bucket_count + 1 long (bucket 0 included).
  void Resize(size_t bucket_count) {
    for (auto* array : {&alloc_bytes, &alloc_count, &free_bytes, &free_count, &surv_bytes, &surv_count}) {
      array->resize(bucket_count + 1);
    }
  }

  // The last bucket, T. -1 when there are no arrays at all.
  int64_t buckets() const { return static_cast<int64_t>(surv_bytes.size()) - 1; }

  // Live bytes at the end of each bucket.
  std::vector<double> LiveBytes() const {
    std::vector<double> live(alloc_bytes.size());
    double level = 0;
    for (size_t k = 0; k < live.size(); ++k) live[k] = level += alloc_bytes[k] - free_bytes[k];
    return live;
  }
};

// Where the analysis gets the series of site 0..site_count()-1. A source may build them on demand, so that a
// run with many sites never holds all arrays at full width at once.
class SiteSeriesSource {
 public:
  virtual ~SiteSeriesSource() = default;
  virtual size_t site_count() const = 0;
  // Fills *series, whose old contents are reused as scratch. Safe to call from several threads for different
  // objects.
  virtual void Load(size_t site, SiteSeries* series) const = 0;
};

// Series that are already in memory.
class SiteSeriesVector final : public SiteSeriesSource {
 public:
  explicit SiteSeriesVector(std::vector<SiteSeries> sites) : sites_(std::move(sites)) {}
  size_t site_count() const override { return sites_.size(); }
  void Load(size_t site, SiteSeries* series) const override { *series = sites_[site]; }

 private:
  std::vector<SiteSeries> sites_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_SITE_SERIES_H_
