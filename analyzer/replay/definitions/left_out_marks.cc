#include "analyzer/replay/definitions/left_out_marks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "preload/trace/fetch_mark.h"
#include "preload/trace/mark_groups.h"

namespace plateau::replay {
namespace {

using trace::MarkKind;

constexpr size_t kMostDrawn = 8'000'000;
constexpr size_t kGroupsToChooseFrom = 4;

// Which iterator a fetch that was left out was asked of is not known.
uint64_t WithoutIterator(uint64_t value) {
  trace::FetchMark mark = trace::DecodeFetchMark(value);
  mark.iterator = 0;
  return trace::EncodeFetchMark(mark);
}

// The marks of one group, of times relative to its begin.
struct Group {
  std::vector<TimedMark> marks;
  uint64_t length = 0;
};

class Drawing {
 public:
  void Add(const TimedMark& mark) {
    if (mark.kind == MarkKind::kMarksLeftOut) return Begin(mark);
    if (!has_begun_ || !trace::IsOfAStep(mark.kind)) return;
    open_.marks.push_back(mark);
    open_.marks.back().tsc -= begin_;
    open_.length = open_.marks.back().tsc;
  }

  // The recording ends at `end`, after `groups`.
  void End(uint64_t groups, uint64_t end) {
    const uint64_t known = counts.groups + groups_written_ + (open_.marks.empty() ? 0 : 1);
    Close(groups > known ? groups - known : 0, end);
  }

  LeftOutMarks counts;
  std::vector<TimedMark> drawn;

 private:
  void Begin(const TimedMark& mark) {
    Close(mark.value, mark.tsc);
    begin_ = mark.tsc;
    has_begun_ = true;
  }

  // What came since the last mark was a group, or nothing, and then `left_out` more.
  void Close(uint64_t left_out, uint64_t now) {
    const bool has_group = !open_.marks.empty();
    if (has_group) {
      ++groups_written_;
      if (last_.size() == kGroupsToChooseFrom) last_.erase(last_.begin());
      last_.push_back(std::move(open_));
    }
    open_ = {};
    counts.groups += left_out;
    if (has_begun_ && left_out > 0 && !last_.empty() && now > begin_) Draw(left_out, now, has_group ? 1 : 0);
  }

  // Groups of which `first` is there.
  void Draw(uint64_t groups, uint64_t end, uint64_t first) {
    const Group& group = *std::min_element(last_.begin(), last_.end(), [](const Group& a, const Group& b) {
      return a.marks.size() < b.marks.size();
    });
    if (groups > (kMostDrawn - std::min(kMostDrawn, drawn.size())) / group.marks.size()) return;
    const double distance = static_cast<double>(end - begin_) / static_cast<double>(groups + first);
    const double scale = std::min(1.0, 0.99 * distance / std::max(1.0, static_cast<double>(group.length)));
    for (uint64_t i = first; i < groups + first; ++i) {
      const double begin = static_cast<double>(i) * distance;
      for (const TimedMark& mark : group.marks) {
        drawn.push_back(mark);
        drawn.back().tsc = begin_ + static_cast<uint64_t>(begin + static_cast<double>(mark.tsc) * scale);
        if (mark.kind == MarkKind::kFetchEnd) drawn.back().value = WithoutIterator(mark.value);
      }
    }
    counts.groups_drawn += groups;
  }

  bool has_begun_ = false;
  uint64_t groups_written_ = 0;
  uint64_t begin_ = 0;
  Group open_;
  std::vector<Group> last_;
};

}  // namespace

LeftOutMarks DrawLeftOutMarks(uint64_t groups, uint64_t end, std::vector<TimedMark>* marks) {
  Drawing drawing;
  for (const TimedMark& mark : *marks) drawing.Add(mark);
  drawing.End(groups, end);
  std::erase_if(*marks, [](const TimedMark& mark) { return mark.kind == MarkKind::kMarksLeftOut; });
  const auto middle = static_cast<std::ptrdiff_t>(marks->size());
  marks->insert(marks->end(), std::make_move_iterator(drawing.drawn.begin()),
                std::make_move_iterator(drawing.drawn.end()));
  std::inplace_merge(marks->begin(), marks->begin() + middle, marks->end(),
                     [](const TimedMark& a, const TimedMark& b) { return a.tsc < b.tsc; });
  return drawing.counts;
}

}  // namespace plateau::replay
