// The whole terminal, drawn over again and again, which listens for keys.
//
// While it lives, keys are not echoed and arrive one by one, the cursor is hidden and the screen before it is
// kept aside (the alternate screen). The destructor puts everything back; so do SIGINT, SIGTERM and SIGHUP, which end Wait()
// like the quit key. Without a terminal Draw() only writes and Wait() only waits. One per process.
#ifndef PLATEAU_ANALYZER_CLI_LIVE_TERMINAL_VIEW_H_
#define PLATEAU_ANALYZER_CLI_LIVE_TERMINAL_VIEW_H_

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

  enum class Event { kTimeout, kResized, kQuit, kKey };
  // Until the time is over, the window has another size, somebody wants to leave (q, Ctrl-C, a signal), or has
  // pressed another key.
  Event Wait(double seconds);
  // The key of the last kKey: a letter, or 'A' and 'B' with kArrow for up and down, '\n' for Enter, 0x1b for Escape.
  int key() const { return key_; }
  static constexpr int kArrow = 0x100;

  // Of the terminal now; 24 and 80 where there is none.
  static int Rows();
  static int Columns();

 private:
  bool is_terminal_;
  int ReadKey();

  bool has_keys_ = false;
  int key_ = 0;
  std::string keys_;  // that have arrived and were not handled yet
  termios before_ = {};
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LIVE_TERMINAL_VIEW_H_
