#include "tests/support/traced_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "analyzer/reader/trace_reader.h"
#include "gtest/gtest.h"
#include "preload/trace/decoder.h"

extern char** environ;

namespace plateau::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::string MakeDirectory() {
  char name[] = "/tmp/plateau-test-XXXXXX";
  return mkdtemp(name);
}

std::vector<std::string> Environment(const RunOptions& options, const std::string& directory) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("PLATEAU_", 0) == 0 || text.rfind("LD_PRELOAD=", 0) == 0) continue;
    result.push_back(text);
  }
  if (options.preload) {
    std::string preload = ShimPath();
    if (!options.preload_behind.empty()) preload += ":" + options.preload_behind;
    result.push_back("LD_PRELOAD=" + preload);
    result.push_back("PLATEAU_OUT=" + directory);
    result.push_back("PLATEAU_MODE=" + options.mode);
  } else if (!options.preload_behind.empty()) {
    result.push_back("LD_PRELOAD=" + options.preload_behind);
  }
  for (const std::string& more : options.environment) result.push_back(more);
  return result;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// An address is live when it was allocated once more than freed; its block is the last one allocated there.
// Frees carry a lower bound of their time, so their order against other streams says nothing; requests of 4
// KiB and more are stamped.
void Replay(TraceContent* trace) {
  std::map<uint64_t, std::vector<const TracedEvent*>> by_address;
  for (const TracedEvent& event : trace->events) {
    if (event.record.kind == trace::RecordKind::kAlloc) {
      by_address[event.record.alloc.address].push_back(&event);
    } else if (event.record.kind == trace::RecordKind::kFree) {
      by_address[event.record.free.address].push_back(&event);
    }
  }
  for (auto& [address, events] : by_address) {
    std::stable_sort(events.begin(), events.end(), [](const TracedEvent* a, const TracedEvent* b) {
      return a->record.tsc < b->record.tsc;
    });
    const TracedEvent* last_alloc = nullptr;
    int64_t balance = 0;
    for (const TracedEvent* event : events) {
      if (event->record.kind == trace::RecordKind::kAlloc) {
        last_alloc = event;
        ++balance;
        ++trace->allocs;
      } else {
        --balance;
        ++trace->frees;
      }
    }
    if (balance < 0) trace->unknown_frees += static_cast<uint64_t>(-balance);
    // A lost block of events may have held the free.
    if (trace->summary.gap_blocks == 0) {
      EXPECT_LE(balance, 1) << "two live blocks at one address";
    }
    if (balance >= 1) {
      trace->live_bytes[address] = last_alloc->record.alloc.bytes;
      trace->live_stacks[address] = last_alloc->record.alloc.stack;
    }
  }
}

}  // namespace

TracedRun& TracedRun::operator=(TracedRun&& other) noexcept {
  exit_code = other.exit_code;
  pid = other.pid;
  out = std::move(other.out);
  err = std::move(other.err);
  directory = std::move(other.directory);
  traces = std::move(other.traces);
  owns_directory_ = std::exchange(other.owns_directory_, false);
  return *this;
}

TracedRun::~TracedRun() {
  if (owns_directory_) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
}

std::string TracedRun::TraceOf(int process) const {
  std::string found;
  for (const std::string& path : traces) {
    if (path.find("." + std::to_string(process) + ".") == std::string::npos) continue;
    EXPECT_TRUE(found.empty()) << "two traces of process " << process;
    found = path;
  }
  EXPECT_FALSE(found.empty()) << "no trace of process " << process << " in " << directory;
  return found;
}

std::string Program(const std::string& name) {
  return std::string(PLATEAU_BINARY_DIR) + "/tests/programs/" + name;
}
std::string ShimPath() { return std::string(PLATEAU_BINARY_DIR) + "/lib/libplateau.so"; }

TracedRun RunTraced(const std::vector<std::string>& command, const RunOptions& options) {
  TracedRun run;
  run.owns_directory_ = options.directory.empty();
  run.directory = run.owns_directory_ ? MakeDirectory() : options.directory;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const std::vector<std::string> environment = Environment(options, run.directory);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  run.pid = fork();
  if (run.pid == 0) {
    setpgid(0, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(126);
  }
  setpgid(run.pid, run.pid);  // here too: the kill below may come before the child runs
  close(out[1]);
  close(err[1]);
  auto start = Clock::now();
  bool killed = false;
  bool is_waiting = static_cast<bool>(options.kill_counts_from);
  pollfd files[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (is_waiting && options.kill_counts_from()) {
      is_waiting = false;
      start = Clock::now();
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const double limit =
        options.kill_after_seconds > 0 && !is_waiting ? options.kill_after_seconds : options.timeout_seconds;
    if (elapsed >= limit && !killed) {
      kill(-run.pid, SIGKILL);
      killed = true;
    }
    const double left = killed ? 1.0 : is_waiting ? 0.001 : limit - elapsed;
    if (poll(files, 2, std::max(1, static_cast<int>(left * 1000))) <= 0) {
      if (killed) break;
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      if (files[i].revents == 0) continue;
      char data[65536];
      const ssize_t got = read(files[i].fd, data, sizeof(data));
      if (got > 0) {
        (i == 0 ? run.out : run.err).append(data, static_cast<size_t>(got));
      } else {
        files[i].fd = -1;
      }
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(run.pid, &status, 0);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (killed && options.kill_after_seconds == 0) run.exit_code = -1;
  if (std::filesystem::is_directory(run.directory)) {
    for (const auto& entry : std::filesystem::directory_iterator(run.directory)) {
      if (entry.path().extension() == ".plt") run.traces.push_back(entry.path());
    }
  }
  std::sort(run.traces.begin(), run.traces.end());
  return run;
}

uint64_t TraceContent::LiveCountOfSize(uint64_t bytes) const {
  return static_cast<uint64_t>(std::count_if(live_bytes.begin(), live_bytes.end(),
                                             [&](const auto& block) { return block.second == bytes; }));
}

uint64_t TraceContent::CountOf(trace::RecordKind kind) const {
  return static_cast<uint64_t>(std::count_if(
      events.begin(), events.end(), [&](const TracedEvent& event) { return event.record.kind == kind; }));
}

uint64_t TraceContent::AllocsOfSize(uint64_t bytes) const {
  return static_cast<uint64_t>(std::count_if(events.begin(), events.end(), [&](const TracedEvent& event) {
    return event.record.kind == trace::RecordKind::kAlloc && event.record.alloc.bytes == bytes;
  }));
}

TraceContent ReadTrace(const std::string& path) {
  TraceContent trace;
  auto opened = reader::TraceReader::Open(path);
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (!opened.ok()) return trace;
  const reader::TraceReader& source = **opened;
  trace.header = source.header();
  trace.summary = source.summary();
  trace.seconds_per_tick = source.NsPerTick() * 1e-9;
  size_t blocks = 0;
  for (const reader::StreamIndex& stream : source.streams()) blocks += stream.blocks.size();
  trace.text.reserve(blocks);
  for (const reader::StreamIndex& stream : source.streams()) {
    for (const reader::BlockRef& ref : stream.blocks) {
      reader::LoadedBlock block;
      EXPECT_TRUE(source.Load(ref, &block).ok());
      trace.text.emplace_back(block.payload);
      trace::RecordReader records(block.header, trace.text.back());
      trace::Record record;
      while (records.Next(&record)) {
        trace.events.push_back({block.header.stream, record});
        if (record.kind == trace::RecordKind::kInfo) {
          trace.info[std::string(record.info.key)] = std::string(record.info.value);
        }
      }
      EXPECT_FALSE(records.damaged());
    }
  }
  Replay(&trace);
  return trace;
}

}  // namespace plateau::testing
