// How much denser than asked small requests are sampled: densest where the program allocates little.
//
//   points of the densest sample   .  .. .   . ... .  .  . .. .   on the axis of allocated bytes
//   kept at half of it             .   . .     . .    .    .      each with the same probability
//
// Threads count down to the points of the densest sample, so its rate never changes; each point is then kept with
// a probability that does. A Poisson process that is thinned is a Poisson process: no countdown needs to be drawn
// again when the density changes, in either direction.
//
// What is kept beyond the sample that was asked for is paid from an account. It begins with a few thousand, which
// is all that a short program needs, and gets a few hundred a second. A window ends after a tenth of a second, or
// earlier when much was kept; then the density becomes what the account can pay for a second at the pace of
// late. While most stacks are new, the program starts up and nothing is spent. The more rises were taken back, the
// more windows the next one waits for, so a program that allocates in waves changes the density ever less often.
// With the first training step all of that begins anew: what is judged begins there, and the imports before it, in
// which a framework allocates a gigabyte in waves, say nothing of the pace of the steps.
// With the first training step all of that begins anew: what is judged begins there, and the imports before it, in
// which a framework allocates a gigabyte in waves, say nothing of the pace of the steps.
//
// Threads: any may call anything; one decides at a time, and another that comes meanwhile goes on without.
// Allocates: never. Locks: tries once.
#ifndef PLATEAU_PRELOAD_RECORDER_SAMPLING_DENSITY_H_
#define PLATEAU_PRELOAD_RECORDER_SAMPLING_DENSITY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace plateau {

class SamplingDensity {
 public:
  static constexpr double kFirstAccount = 6000;  // samples beyond those asked for
  static constexpr double kPerSecond = 400;

  // Begins as dense as it may be: 2^`most` times.
  void Start(uint32_t most, uint64_t now) {
    most_ = most;
    log2_.store(most, std::memory_order_relaxed);
    begin_.store(now, std::memory_order_relaxed);
    points_.store(0, std::memory_order_relaxed);
    Forget(0);
    begins_anew_.store(false, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_relaxed);
    on_.store(most > 0, std::memory_order_relaxed);
  }
  // As at the start, from the next point on.
  void BeginAnew() { begins_anew_.store(true, std::memory_order_relaxed); }
  // The sample is as coarse as asked, or coarser, from now on.
  void Stop() {
    on_.store(false, std::memory_order_relaxed);
    log2_.store(0, std::memory_order_relaxed);
  }

  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  // Samples are 2^log2() times as dense as asked.
  uint32_t log2() const { return log2_.load(std::memory_order_relaxed); }
  double account() const { return account_; }

  // A point of the densest sample was passed, and so many `nodes` of stacks are defined. True when log2() has
  // changed.
  bool OnPoint(uint64_t now, uint64_t ticks_per_second, uint32_t nodes) {
    const uint64_t points = points_.fetch_add(1, std::memory_order_relaxed) + 1;
    const uint32_t density = log2();
    const uint64_t kept = points << density >> most_;
    const uint64_t begin = begin_.load(std::memory_order_relaxed);
    const uint64_t elapsed = now > begin ? now - begin : 0;  // clocks of processors differ a little
    const bool is_within_window =
        kept <= kMostKept && points <= kMostPoints && elapsed < ticks_per_second / kWindowsPerSecond;
    if (is_within_window && !begins_anew_.load(std::memory_order_relaxed)) [[likely]]
      return false;
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const double seconds =
        std::max(kLeastSeconds,
                 static_cast<double>(elapsed) / static_cast<double>(std::max<uint64_t>(1, ticks_per_second)));
    const bool has_changed = Decide(static_cast<double>(points), seconds, nodes, density);
    points_.store(0, std::memory_order_relaxed);
    begin_.store(now, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_release);
    return has_changed;
  }

 private:
  static constexpr uint64_t kMostKept = 40;
  static constexpr uint64_t kMostPoints = 80;
  static constexpr uint64_t kWindowsPerSecond = 10;
  static constexpr double kLeastSeconds = 1e-4;
  static constexpr double kHorizonSeconds = 1;   // for which the account must last
  static constexpr double kNewNodes = 2;         // for each sample: the program starts up
  static constexpr double kNodesTogether = 256;  // threads take so many numbers at once
  static constexpr uint32_t kTakenBackFreely = 8;
  static constexpr uint32_t kMostQuiet = 1024;

  void Forget(uint32_t nodes) {
    account_ = kFirstAccount;
    points_per_second_ = 0;
    nodes_ = nodes;
    quiet_ = 0;
    wanted_quiet_ = 1;
    taken_back_ = 0;
    has_risen_ = false;
  }

  bool Decide(double points, double seconds, uint32_t nodes, uint32_t density) {
    if (begins_anew_.exchange(false, std::memory_order_relaxed)) {
      Forget(nodes);
      log2_.store(most_, std::memory_order_relaxed);
      return density != most_;
    }
    const double all = static_cast<double>(1u << most_);
    const double kept = points * static_cast<double>(1u << density) / all;
    account_ = std::clamp(account_ + kPerSecond * seconds - (kept - points / all), 0.0, kFirstAccount);
    points_per_second_ += (points / seconds - points_per_second_) * seconds / (seconds + 1);
    const uint32_t new_nodes = nodes - nodes_;
    nodes_ = nodes;
    const bool starts_up = static_cast<double>(new_nodes) > kNodesTogether + kNewNodes * std::max(kept, 1.0);
    const double affordable = kPerSecond + account_ / kHorizonSeconds;
    const double pace = std::max(points_per_second_, 0.5 * points / seconds);
    const auto costs = [&](uint32_t log2) { return pace * static_cast<double>(1u << log2) / all; };
    uint32_t next = density;
    if (starts_up) {
      next = 0;
    } else {
      while (next > 0 && costs(next) > affordable) --next;
      while (next < most_ && next >= density && costs(next + 1) <= 0.75 * affordable) ++next;
    }
    if (next > density) {
      if (++quiet_ < wanted_quiet_) return false;
      has_risen_ = true;
    } else if (next < density) {
      if (has_risen_ && ++taken_back_ % kTakenBackFreely == 0)
        wanted_quiet_ = std::min(2 * wanted_quiet_, kMostQuiet);
      has_risen_ = false;
    }
    quiet_ = 0;
    log2_.store(next, std::memory_order_relaxed);
    return next != density;
  }

  uint32_t most_ = 0;
  std::atomic<uint32_t> log2_{0};
  std::atomic<bool> on_{false};
  std::atomic<uint64_t> begin_{0};
  std::atomic<uint64_t> points_{0};  // of this window
  std::atomic<bool> busy_{false};
  std::atomic<bool> begins_anew_{false};
  // Of whoever decides.
  double account_ = 0;
  double points_per_second_ = 0;  // lately
  uint32_t nodes_ = 0;
  uint32_t quiet_ = 0;         // windows in a row that would have room for more
  uint32_t wanted_quiet_ = 1;  // of which so many make the sample denser
  uint32_t taken_back_ = 0;    // rises
  bool has_risen_ = false;     // since it last became coarser
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_SAMPLING_DENSITY_H_
