// One line on the terminal that says how far long work has come, and nothing when stderr is not a terminal.
//
//   Progress progress("reading train-123.plt", total_bytes);
//   progress.Add(block_bytes);          // from any thread
//   ...                                 // the line is erased when `progress` goes away
//
// Shows itself only after half a second, at most ten times a second. Thread-safe.
#ifndef PLATEAU_ANALYZER_BASE_PROGRESS_H_
#define PLATEAU_ANALYZER_BASE_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace plateau {

class Progress {
 public:
  Progress(std::string what, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(uint64_t amount);

 private:
  void Draw(uint64_t done, std::chrono::steady_clock::time_point now);

  const std::string what_;
  const uint64_t total_;
  const bool enabled_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<uint64_t> done_{0};
  std::atomic<int64_t> next_draw_ms_{500};
  std::atomic<bool> drawn_{false};
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_PROGRESS_H_
