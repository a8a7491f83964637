#include "analyzer/base/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"

namespace plateau {

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      enabled_(total > 0 && isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::Add(uint64_t amount) {
  if (!enabled_) return;
  const uint64_t done = done_.fetch_add(amount, std::memory_order_relaxed) + amount;
  const auto now = std::chrono::steady_clock::now();
  const int64_t elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_).count();
  int64_t due = next_draw_ms_.load(std::memory_order_relaxed);
  if (elapsed_ms < due || !next_draw_ms_.compare_exchange_strong(due, elapsed_ms + 100)) return;
  Draw(done, now);
}

void Progress::Draw(uint64_t done, std::chrono::steady_clock::time_point now) {
  drawn_ = true;
  const double share = total_ > done ? static_cast<double>(done) / static_cast<double>(total_) : 1;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string line = absl::StrFormat("\r\033[K%s: %.0f %%", what_, share * 100);
  if (share > 0.02) line += absl::StrFormat(", %s left", FormatDuration(elapsed / share - elapsed));
  std::fputs(line.c_str(), stderr);
}

}  // namespace plateau
