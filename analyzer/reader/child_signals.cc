#include "analyzer/reader/child_signals.h"

#include <csignal>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {
namespace {

constexpr int kMaxSignal = 64;

std::string SignalName(int signal) {
  constexpr std::pair<int, const char*> kNames[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
      {SIGSYS, "SIGSYS"}};
  for (const auto& [number, name] : kNames) {
    if (number == signal) return name;
  }
  return absl::StrCat("signal ", signal);
}

}  // namespace

std::string MachineOf(const TraceIdentity& identity) {
  return absl::StrCat(identity.host, "/", identity.pod);
}

void AddChildSignal(const std::string& machine, int64_t waiter, std::string_view key, std::string_view value,
                    ChildSignals* signals) {
  absl::string_view pid_text(key.data(), key.size());
  int64_t pid = 0;
  int signal = 0;
  if (!absl::ConsumePrefix(&pid_text, "child:") || !absl::SimpleAtoi(pid_text, &pid) || pid <= 0) return;
  if (!absl::SimpleAtoi(absl::string_view(value.data(), value.size()), &signal)) return;
  if (signal >= 1 && signal <= kMaxSignal) (*signals)[{machine, waiter, pid}] = signal;
}

absl::Status ReadChildSignals(const std::string& path, const std::string& machine, ChildSignals* signals) {
  PLATEAU_ASSIGN_OR_RETURN(const auto reader, TraceReader::Open(path));
  for (const StreamIndex& stream : reader->streams()) {
    for (const auto& place : stream.blocks) {
      LoadedBlock block;
      if (!reader->Load(place, &block).ok()) continue;
      trace::RecordReader records(block.header, block.payload);
      trace::Record record;
      while (records.Next(&record)) {
        if (record.kind != trace::RecordKind::kInfo) continue;
        AddChildSignal(machine, reader->header().pid, record.info.key, record.info.value, signals);
      }
    }
  }
  return absl::OkStatus();
}

std::string EndingBySignal(int signal) {
  const bool is_request = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  return absl::StrCat(is_request ? "stopped by " : "killed by ", SignalName(signal));
}

}  // namespace plateau::reader
