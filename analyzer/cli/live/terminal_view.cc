#include "analyzer/cli/live/terminal_view.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace plateau::cli {
namespace {

volatile sig_atomic_t g_quit = 0;
volatile sig_atomic_t g_resized = 0;

void OnQuit(int) { g_quit = 1; }
void OnResize(int) { g_resized = 1; }

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // no SA_RESTART: a signal ends the wait
  sigaction(signal, &action, nullptr);
}

absl::Status Write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return absl::ErrnoToStatus(errno, "stdout");
  return absl::OkStatus();
}

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int TerminalView::Rows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

int TerminalView::Columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? std::max<int>(size.ws_col, 20)
                                                                         : 80;
}

// The next key of what has arrived, which may be several at once: a letter, or an escape sequence of the arrows. -1 when the terminal is gone.
int TerminalView::ReadKey() {
  if (keys_.empty()) {
    char text[64];
    const ssize_t n = read(STDIN_FILENO, text, sizeof(text));
    if (n == 0) return -1;
    if (n < 0) return 0;
    keys_.assign(text, static_cast<size_t>(n));
  }
  const bool is_arrow = keys_.size() >= 3 && keys_[0] == '\x1b' && (keys_[1] == '[' || keys_[1] == 'O');
  const int key = is_arrow           ? kArrow + keys_[2]
                  : keys_[0] == '\r' ? '\n'
                                     : static_cast<unsigned char>(keys_[0]);
  keys_.erase(0, is_arrow ? 3 : 1);
  return key;
}

TerminalView::TerminalView() : is_terminal_(isatty(STDOUT_FILENO) == 1) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) Handle(signal, OnQuit);
  Handle(SIGWINCH, OnResize);
  if (!is_terminal_) return;
  has_keys_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0;
  if (has_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  std::fputs("\x1b[?1049h\x1b[?25l\x1b[2J", stdout);
}

TerminalView::~TerminalView() {
  if (is_terminal_) {
    std::fputs("\x1b[?7h\x1b[?1049l\x1b[?25h", stdout);
    std::fflush(stdout);
  }
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

absl::Status TerminalView::Draw(const std::string& screen, const std::string& last_line) {
  if (!is_terminal_) return Write(screen);
  std::vector<std::string> lines = absl::StrSplit(screen, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  lines.resize(std::min(lines.size(), static_cast<size_t>(Rows()) - 1));
  lines.push_back(last_line);
  // Home, and clear each line before it is written and what is below the last, rather than clear and draw: no flicker. Clearing
  // behind a line that fills the width would take its last character.
  std::string text = absl::StrCat("\x1b[?7l\x1b[H\x1b[2K", absl::StrJoin(lines, "\n\x1b[2K"));
  if (lines.size() < static_cast<size_t>(Rows())) absl::StrAppend(&text, "\n\x1b[J");
  return Write(text);
}

TerminalView::Event TerminalView::Wait(double seconds) {
  const double end = Now() + seconds;
  while (true) {
    if (g_quit != 0) return Event::kQuit;
    if (g_resized != 0 && is_terminal_) {
      g_resized = 0;
      return Event::kResized;
    }
    const double left = end - Now();
    if (left <= 0) return Event::kTimeout;
    pollfd keyboard = {STDIN_FILENO, POLLIN, 0};
    // Signals between the tests above and poll() are seen at the next look, a fifth of a second later.
    const int timeout_ms = static_cast<int>(std::min(left, 0.2) * 1000) + 1;
    const int ready = keys_.empty() ? poll(&keyboard, has_keys_ ? 1 : 0, timeout_ms) : 1;
    if (ready <= 0) continue;
    key_ = ReadKey();
    if (key_ == 'q' || key_ == 'Q' || key_ == '\x03' || key_ == '\x04') return Event::kQuit;
    if (key_ < 0 && (keyboard.revents & POLLHUP) != 0) return Event::kQuit;  // the terminal is gone
    if (key_ > 0) return Event::kKey;
  }
}

}  // namespace plateau::cli
