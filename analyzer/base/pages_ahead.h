// Memory that one thread uses from the beginning to the end, made ready ahead of it by threads that would
// otherwise wait: the kernel clears a page when it is touched first, which takes as long as hundreds of
// events, and much longer on a virtual machine whose host has to give the page back.
//
//   owner:   ahead.Begin(memory, bytes); ...; ahead.Use(end of what is used); ...
//   others:  while (there is nothing else to do && ahead.Prepare()) {}
//
//   | used ... |  ready          |  reserved ...                      |
//   begin      ^ Use()           ^ Prepare() makes the next page ready, kDistance ahead at most
//
// What memory holds never changes by it, so a late Prepare() of memory that was given back meanwhile does no
// harm. Nothing is done for little memory, nor where the kernel cannot (before Linux 5.14).
#ifndef PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_
#define PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace plateau {

class PagesAhead {
 public:
  static constexpr size_t kPageBytes = 2 << 20;        // a huge page
  static constexpr size_t kDistance = 2 * kPageBytes;  // how far ahead of what is used
  static constexpr size_t kWorthIt = kPageBytes / 4;   // that must be used first

  // The owner goes on in other memory, of which nothing is used yet, or in none.
  void Begin(const void* memory, size_t bytes);
  // It has used what lies before `end`, and perhaps more.
  void Use(const void* end) { used_.store(reinterpret_cast<uintptr_t>(end), std::memory_order_relaxed); }

  // Makes a page ready. False when there is none to be made. From any thread.
  bool Prepare();

 private:
  std::mutex mutex_;
  uintptr_t begin_ = 0;
  uintptr_t next_ = 0;  // page to be made ready
  uintptr_t end_ = 0;
  std::atomic<uintptr_t> used_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_PAGES_AHEAD_H_
