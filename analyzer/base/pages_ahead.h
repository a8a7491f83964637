// Memory that is used from its beginning to its end, made ready some pages ahead: otherwise the kernel is
// asked for each page when it is touched first, which takes as long as a hundred events.
//
//   | used ... |  ready   |  reserved ...                      |
//   begin      ^ Use()    ^ the next piece, as soon as something here is used
//
// What memory holds never changes by it. Use that jumps ahead, as numbers in damaged traces do, finds its
// page as ever, and what was left out stays without memory. Pages are of the common size: huge ones are
// quicker to get where the machine has them at hand, but many times slower on a virtual machine, whose host
// takes back those that are free for a while.
#ifndef PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_
#define PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace plateau {

// May be used on several threads at once; moved and made by one alone.
class PagesAhead {
 public:
  static constexpr size_t kPieceBytes = 128 << 10;   // that are made ready beyond what is used
  static constexpr size_t kLongestStep = 512 << 10;  // that is not a jump

  PagesAhead() = default;  // of no memory
  // Memory that nobody touched yet. It may begin and end within a page, which is left as it is there.
  PagesAhead(const void* memory, size_t bytes)
      : ready_(reinterpret_cast<uintptr_t>(memory)), end_(reinterpret_cast<uintptr_t>(memory) + bytes) {}
  PagesAhead(PagesAhead&& other) noexcept
      : ready_(other.ready_.exchange(kNever)), end_(std::exchange(other.end_, 0)) {}
  PagesAhead& operator=(PagesAhead&& other) noexcept {
    ready_ = other.ready_.exchange(kNever);
    end_ = std::exchange(other.end_, 0);
    return *this;
  }

  // Before what lies at `place` is touched.
  void Use(const void* place) {
    if (reinterpret_cast<uintptr_t>(place) >= ready_.load(std::memory_order_relaxed)) [[unlikely]]
      MakeReady(reinterpret_cast<uintptr_t>(place));
  }
  // All that lies before `end` will be touched.
  void UseAllBefore(const void* end);

 private:
  static constexpr uintptr_t kNever = UINTPTR_MAX;

  [[gnu::noinline]] void MakeReady(uintptr_t place);

  std::atomic<uintptr_t> ready_ = kNever;  // what lies before it is, or was left out
  uintptr_t end_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_
