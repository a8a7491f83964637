// Per site and bucket of the clock: bytes and objects born and freed, ages at death, and at the end the
// survivors by the bucket they were born in.
//
// Sparse: a bucket in which a site did nothing costs nothing. Buckets come in ascending order (a folded past
// is the exception and is found by search). Amounts are weighted.
#ifndef PLATEAU_ANALYZER_REPLAY_SITE_FLOWS_H_
#define PLATEAU_ANALYZER_REPLAY_SITE_FLOWS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace plateau::replay {

inline constexpr int kAgeClasses = 24;  // 0 | 1 | 2-3 | 4-7 | ...

inline int AgeClass(uint32_t age) {
  const int width = std::bit_width(age);
  return width < kAgeClasses ? width : kAgeClasses - 1;
}

struct BucketFlow {
  uint32_t bucket = 0;
  double alloc_bytes = 0;
  double alloc_count = 0;
  double free_bytes = 0;
  double free_count = 0;
};

struct Survivors {
  uint32_t bucket = 0;  // of birth
  double bytes = 0;
  double count = 0;
  double variance = 0;  // of bytes, from sampling
};

struct SiteFlow {
  std::vector<BucketFlow> buckets;   // ascending
  std::vector<Survivors> survivors;  // ascending
  std::array<double, kAgeClasses> death_bytes{};
  std::array<double, kAgeClasses> death_count{};
  double tensor_count = 0;  // of the survivors

  BucketFlow& At(uint32_t bucket) {
    if (!buckets.empty() && buckets.back().bucket == bucket) return buckets.back();
    return AtSlow(bucket);
  }
  void Allocated(uint32_t bucket, double bytes, double count) {
    BucketFlow& flow = At(bucket);
    flow.alloc_bytes += bytes;
    flow.alloc_count += count;
  }
  void Freed(uint32_t birth, uint32_t bucket, double bytes, double count) {
    BucketFlow& flow = At(bucket);
    flow.free_bytes += bytes;
    flow.free_count += count;
    const int age = AgeClass(bucket > birth ? bucket - birth : 0);
    death_bytes[age] += bytes;
    death_count[age] += count;
  }
  void Survived(uint32_t birth, double bytes, double count, double variance);
  void Finish();  // sorts and sums the survivors

 private:
  BucketFlow& AtSlow(uint32_t bucket);
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_SITE_FLOWS_H_
