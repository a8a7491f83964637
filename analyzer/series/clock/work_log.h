// When a program without training steps does its work, and how much it has allocated by when.
//
//      imports | work .......................... | teardown
//              ^ begin                           ^ end
//
// The work begins where the imports end: with the first stretch without an import that is not short. It ends
// where the program begins to exit, which newer traces mark; in traces of Python without that mark, with the
// last allocation beneath the function at the root of most stacks, because an interpreter that finalises frees
// and hardly allocates; in those of other programs, with the last allocation when most of what lived then is freed
// behind it. A program that was killed had no end: its work goes on to the end of the trace. From there
// the end moves back to where the function returned that does nearly all of the work, when hardly anything
// follows: what its local variables held is gone afterwards. The same holds where a good part of what lived was
// freed in one go and hardly anything followed: a kernel of a notebook clears its variables long before it exits.
//
// Amounts are weighted bytes, of which one allocation counts at most kMostOfOne: loading a data set in one
// piece is not most of a program's work. Pure: no files, no clock. Memory: per path, and a bounded curve.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_WORK_LOG_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_WORK_LOG_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/series/clock/loops/function_paths.h"

namespace plateau::series {

struct WorkWindow {
  uint64_t begin = 0;
  uint64_t end = 0;
  double allocated_bytes = 0;  // in between, weighted and in full
};

struct WorkEnd {
  uint64_t trace_end = 0;
  std::optional<uint64_t> exit_time;  // the program began to exit
  bool was_killed = false;            // or still runs
  uint64_t loop_end = 0;              // last event inside the loop that does the work; 0: not known
  uint64_t short_while = 0;           // what is no time at all, whatever the program's own time
};

class WorkLog {
 public:
  static constexpr double kMostOfOne = 1 << 20;
  static constexpr int64_t kManyFrees = 200;  // one after the other: something large is taken down

  // An allocation of `bytes`, which stands for `weight` such. In the order of time.
  void Add(uint64_t tsc, uint32_t path, bool is_import, double bytes, double weight) {
    if (is_import) {
      EndStretch();
      return;
    }
    if (frees_at_the_end_ >= kManyFrees) EndFrees();
    ++live_records_;
    frees_at_the_end_ = 0;
    last_alloc_ = tsc;
    const double all = bytes * weight;
    const double counted = std::min(all, kMostOfOne);
    if (work_since_import_ == 0) stretch_begin_ = tsc;
    counted_ += counted;
    work_since_import_ += counted;
    allocated_ += all;
    if (path >= paths_.size()) paths_.resize(path + 1 + path / 2);
    PathWork& work = paths_[path];
    work.counted += counted;
    ++work.records;
    work.last_tsc = tsc;
    work.counted_at_last = counted_;
    if (counted_ >= next_point_) AddPoint(tsc);
  }

  void AddFree() {
    --live_records_;
    ++frees_at_the_end_;
  }

  // Once, after the last Add().
  WorkWindow Finish(const FunctionPaths& paths, const WorkEnd& end);

  // What is left of the window from `begin` on; all of it unless `begin` lies inside.
  WorkWindow From(const WorkWindow& window, uint64_t begin) const;

  // Times at which `parts` equal parts of the counted bytes of the window end, the last at its end. Fewer
  // when the curve is too coarse to tell them apart.
  std::vector<uint64_t> EqualParts(const WorkWindow& window, uint32_t parts) const;

 private:
  struct PathWork {
    double counted = 0;
    uint64_t records = 0;
    uint64_t last_tsc = 0;
    double counted_at_last = 0;  // of all paths, by then
  };
  struct Point {
    uint64_t tsc;
    double counted;
    double allocated;
  };
  // Many frees without an allocation between them.
  struct Clearance {
    uint64_t begin;  // the last allocation before
    double counted;
  };
  static constexpr size_t kMostPoints = 1 << 15;
  static constexpr size_t kMostClearances = 1 << 10;

  void EndStretch();
  void EndFrees();
  void AddPoint(uint64_t tsc);
  Point PointAt(uint64_t tsc) const;
  uint64_t BeginOfWork() const;
  uint64_t BeginOfTeardown(uint64_t end, uint64_t short_while, double hardly_anything) const;
  uint64_t EndOfWork(const FunctionPaths& paths, uint64_t begin, const WorkEnd& end) const;

  double counted_ = 0;
  double allocated_ = 0;
  int64_t live_records_ = 0;
  int64_t frees_at_the_end_ = 0;  // since the last allocation
  uint64_t last_alloc_ = 0;
  std::vector<Clearance> clearances_;
  std::vector<PathWork> paths_;
  std::vector<Point> points_;
  double resolution_ = 1024;
  double next_point_ = 0;

  double work_since_import_ = 0;
  uint64_t stretch_begin_ = 0;
  double longest_stretch_ = 0;
  // When the first stretch without an import began in which at least 2^i bytes were allocated; 0: none.
  std::array<uint64_t, 64> stretch_begins_{};
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_WORK_LOG_H_
