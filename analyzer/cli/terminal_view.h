// A terminal that is drawn over again and again and listens for a key.
//
// While it lives, keys are not echoed and arrive one by one, the cursor is hidden and long lines are cut
// instead of wrapped. The destructor puts everything back; so do SIGINT, SIGTERM and SIGHUP, which end Wait()
// like the quit key. Without a terminal Draw() only writes and Wait() only waits. One per process.
#ifndef PLATEAU_ANALYZER_CLI_TERMINAL_VIEW_H_
#define PLATEAU_ANALYZER_CLI_TERMINAL_VIEW_H_

#include <termios.h>

#include <string>

#include "absl/status/status.h"

namespace plateau::cli {

class TerminalView {
 public:
  // Draws on stdout, listens on stdin.
  TerminalView();
  ~TerminalView();
  TerminalView(const TerminalView&) = delete;
  TerminalView& operator=(const TerminalView&) = delete;

  bool is_terminal() const { return is_terminal_; }

  // Shows as many lines of the screen as fit, the last line always.
  absl::Status Draw(const std::string& screen, const std::string& last_line);

  enum class Event { kTimeout, kResized, kQuit };
  // Until the time is over, the window has another size, or somebody wants to leave (q, Ctrl-C, a signal).
  Event Wait(double seconds);

 private:
  bool is_terminal_;
  bool has_keys_ = false;
  termios before_ = {};
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_TERMINAL_VIEW_H_
