#include "analyzer/series/clock/work_log.h"

#include <cmath>

namespace plateau::series {
namespace {

size_t ClassOf(double bytes) {
  return bytes < 1 ? 0 : std::min<size_t>(63, static_cast<size_t>(std::ilogb(bytes)));
}

}  // namespace

void WorkLog::EndStretch() {
  if (work_since_import_ <= 0) return;
  longest_stretch_ = std::max(longest_stretch_, work_since_import_);
  for (size_t i = ClassOf(work_since_import_) + 1; i-- > 0;) {
    if (stretch_begins_[i] != 0) break;  // an earlier one was as long
    stretch_begins_[i] = stretch_begin_;
  }
  work_since_import_ = 0;
}

void WorkLog::EndFrees() {
  constexpr double kGoodPart = 0.3;  // of what lived
  const double lived = static_cast<double>(live_records_ + frees_at_the_end_);
  if (static_cast<double>(frees_at_the_end_) < kGoodPart * lived) return;
  if (clearances_.size() >= kMostClearances) clearances_.erase(clearances_.begin());
  clearances_.push_back({last_alloc_, counted_});
}

// Half of the points go when there are too many.
void WorkLog::AddPoint(uint64_t tsc) {
  points_.push_back({tsc, counted_, allocated_});
  if (points_.size() >= kMostPoints) {
    for (size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
    resolution_ *= 2;
  }
  next_point_ = counted_ + resolution_;
}

WorkLog::Point WorkLog::PointAt(uint64_t tsc) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), tsc,
                                      [](uint64_t time, const Point& point) { return time < point.tsc; });
  return after == points_.begin() ? Point{tsc, 0, 0} : *(after - 1);
}

uint64_t WorkLog::BeginOfWork() const { return stretch_begins_[ClassOf(longest_stretch_ / 2)]; }

// The first large clearance after which hardly anything was done until `end`, else `end`.
uint64_t WorkLog::BeginOfTeardown(uint64_t end, uint64_t short_while, double hardly_anything) const {
  const double counted_at_end = PointAt(end).counted;
  for (const Clearance& clearance : clearances_) {
    if (clearance.begin >= end || end - clearance.begin > short_while) continue;
    if (counted_at_end - clearance.counted <= hardly_anything) return clearance.begin;
  }
  return end;
}

uint64_t WorkLog::EndOfWork(const FunctionPaths& paths, uint64_t begin, const WorkEnd& end) const {
  constexpr double kMostOfIt = 0.5;         // of the work is beneath a function that the end is taken from
  constexpr double kHardlyAnything = 0.02;  // of the work follows its return
  constexpr double kShortWhile = 0.3;       // of the window's time passes after it
  constexpr uint64_t kFewRecords = 200;     // say nothing about where the work is done
  constexpr int64_t kFewFrees = 30;         // with nothing behind them: no loop goes on
  if (end.was_killed && !end.exit_time) return end.trace_end;
  // What is beneath a path, its own work included.
  std::vector<PathWork> beneath(paths.size());
  for (size_t path = 0; path < std::min(paths.size(), paths_.size()); ++path) beneath[path] = paths_[path];
  for (size_t path = beneath.size(); path-- > 1;) {
    PathWork& parent = beneath[paths[static_cast<uint32_t>(path)].parent];
    parent.counted += beneath[path].counted;
    parent.records += beneath[path].records;
    parent.last_tsc = std::max(parent.last_tsc, beneath[path].last_tsc);
    parent.counted_at_last = std::max(parent.counted_at_last, beneath[path].counted_at_last);
  }
  std::vector<uint32_t> heaviest(paths.size());  // child of each path
  for (uint32_t path = 1; path < paths.size(); ++path) {
    uint32_t& child = heaviest[paths[path].parent];
    if (child == 0 || beneath[path].counted > beneath[child].counted) child = path;
  }
  uint64_t chosen = end.exit_time.value_or(end.trace_end);
  uint32_t path = 0;
  if (beneath.empty()) return chosen;
  const bool ends_in_frees = frees_at_the_end_ >= kFewFrees && frees_at_the_end_ >= live_records_;
  if (ends_in_frees && heaviest[0] == 0) return last_alloc_;
  if (beneath[0].records < kFewRecords) return chosen;
  if (!end.exit_time && heaviest[0] != 0) {
    path = heaviest[0];
    chosen = beneath[path].last_tsc;
  }
  const double whole = beneath[0].counted;
  const double counted_at_end = PointAt(chosen).counted;
  const uint64_t time = chosen > begin ? chosen - begin : 0;
  const uint64_t short_while =
      std::max(end.short_while, static_cast<uint64_t>(kShortWhile * static_cast<double>(time)));
  chosen = std::max(begin, BeginOfTeardown(chosen, short_while, kHardlyAnything * whole));
  for (path = heaviest[path]; path != 0; path = heaviest[path]) {
    const PathWork& work = beneath[path];
    const bool is_little = counted_at_end - work.counted_at_last <= kHardlyAnything * whole &&
                           chosen - std::min(chosen, work.last_tsc) <= short_while;
    if (work.counted < kMostOfIt * whole || !is_little || work.last_tsc <= begin) break;
    chosen = std::min(chosen, work.last_tsc);
  }
  // The same of the loop. A native program that does not free what it held has no end that would hide it: what
  // its last round still does counts.
  const bool takes_itself_down = end.exit_time.has_value() || frees_at_the_end_ >= kFewFrees;
  const bool ends_with_loop = takes_itself_down && end.loop_end > begin && end.loop_end < chosen &&
                              chosen - end.loop_end <= short_while &&
                              counted_at_end - PointAt(end.loop_end).counted <= kHardlyAnything * whole;
  return ends_with_loop ? end.loop_end : chosen;
}

WorkWindow WorkLog::Finish(const FunctionPaths& paths, const WorkEnd& end) {
  EndStretch();
  WorkWindow window;
  window.begin = BeginOfWork();
  window.end = std::max(window.begin, EndOfWork(paths, window.begin, end));
  window.allocated_bytes = PointAt(window.end).allocated - PointAt(window.begin).allocated;
  return window;
}

WorkWindow WorkLog::From(const WorkWindow& window, uint64_t begin) const {
  if (begin <= window.begin || begin >= window.end) return window;
  return {begin, window.end, PointAt(window.end).allocated - PointAt(begin).allocated};
}

std::vector<uint64_t> WorkLog::EqualParts(const WorkWindow& window, uint32_t parts) const {
  const double first = PointAt(window.begin).counted;
  const double part = (PointAt(window.end).counted - first) / parts;
  std::vector<uint64_t> ends;
  if (part <= 0) return ends;
  uint32_t next = 1;
  for (const Point& point : points_) {
    if (point.tsc <= window.begin || point.tsc >= window.end) continue;
    if (point.counted < first + part * next || (!ends.empty() && ends.back() == point.tsc)) continue;
    if (next + 1 > parts) break;
    ends.push_back(point.tsc);
    next = static_cast<uint32_t>((point.counted - first) / part) + 1;
  }
  ends.push_back(window.end);
  return ends;
}

}  // namespace plateau::series
