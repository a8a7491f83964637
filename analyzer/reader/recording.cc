#include "analyzer/reader/recording.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/status_macros.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {
namespace {

namespace fs = std::filesystem;

struct Peek {
  trace::HeaderStatus status;
  trace::FileHeader header;
  bool is_blank;  // nothing but zeros
};

absl::StatusOr<Peek> PeekHeader(const std::string& path) {
  PLATEAU_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string page(trace::kHeaderBytes, '\0');
  PLATEAU_ASSIGN_OR_RETURN(const size_t bytes, file.Read(0, page.data(), page.size()));
  Peek peek;
  peek.is_blank = page.find_first_not_of('\0') == std::string::npos;
  peek.status = trace::ReadFileHeader(reinterpret_cast<const uint8_t*>(page.data()), bytes, &peek.header);
  return peek;
}

// The half-written packed form of a trace that is still there: whoever packed it was killed, or is at it now.
bool IsBeingPacked(const fs::path& path) {
  std::error_code error;
  return path.extension() == kPackingSuffix && fs::exists(fs::path(path).replace_extension(), error);
}

// Takes the traces of one directory. Files that are no traces are passed over: a recording may hold reports
// and notes. What is named as a trace and is none was one once, so it counts as lost.
absl::Status AddDirectory(const std::string& path, Recording* recording) {
  std::error_code error;
  fs::directory_iterator entries(path, error);
  if (error) return absl::ErrnoToStatus(error.value(), path);
  size_t taken = 0, newer = 0;
  for (const fs::directory_entry& entry : entries) {
    if (!entry.is_regular_file(error)) {
      if (entry.path().extension() == ".plt")
        recording->skipped.push_back(
            absl::StrCat(entry.path().string(), ": named as a trace, but it is no file"));
      continue;
    }
    if (IsBeingPacked(entry.path())) continue;
    const absl::StatusOr<Peek> peek = PeekHeader(entry.path());
    if (!peek.ok()) {
      recording->skipped.push_back(std::string(peek.status().message()));
    } else if (peek->status == trace::HeaderStatus::kOk || peek->status == trace::HeaderStatus::kDamaged) {
      recording->traces.push_back({entry.path(), peek->header});
      ++taken;
    } else if (entry.path().extension() == ".plt" && peek->status == trace::HeaderStatus::kTooShort) {
      recording->skipped.push_back(
          absl::StrCat(entry.path().string(), ": ", entry.file_size(error),
                       " bytes are less than a header has; what it recorded is lost"));
    } else if (entry.path().extension() == ".plt" && peek->status == trace::HeaderStatus::kNotATrace) {
      recording->skipped.push_back(absl::StrCat(
          entry.path().string(), peek->is_blank && entry.file_size(error) > 0
                                     ? ": the process was killed before it had recorded anything"
                                     : ": named as a trace, but its first bytes are not a trace's"));
    } else if (peek->status == trace::HeaderStatus::kNewerVersion) {
      recording->skipped.push_back(absl::StrCat(entry.path().string(), ": written by a newer Plateau"));
      ++newer;
    }
  }
  if (taken > 0) return absl::OkStatus();
  if (newer > 0) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": all ", newer, " traces in it were written by a newer Plateau"));
  }
  if (!recording->skipped.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": no trace in it can be read: ", recording->skipped.front(),
                     recording->skipped.size() > 1 ? " (and others)" : ""));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": no traces in this directory; record one with `plateau run -- COMMAND`"));
}

}  // namespace

// Field 22 of /proc/PID/stat tells two processes of one pid apart.
bool IsRunning(const trace::FileHeader& header) {
  if (header.clean_exit == 1) return false;
  const auto stat = ReadWholeFile(absl::StrCat("/proc/", header.pid, "/stat"), 1 << 16);
  if (!stat.ok()) return false;
  size_t at = stat->rfind(')');
  // A dead process that its parent has not asked about yet.
  if (at != std::string::npos && (stat->compare(at, 3, ") Z") == 0 || stat->compare(at, 3, ") X") == 0))
    return false;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat->find(' ', at + 1);
  return at != std::string::npos &&
         std::strtoull(stat->c_str() + at, nullptr, 10) == header.process_start_ticks;
}

bool Recording::IsRunning() const {
  return std::any_of(traces.begin(), traces.end(), [](const TraceFile& trace) {
    return trace.header.clean_exit != 1 && reader::IsRunning(trace.header);
  });
}

absl::StatusOr<Recording> OpenRecording(const std::vector<std::string>& paths) {
  Recording recording;
  if (paths.empty()) return absl::InvalidArgumentError("no recording given");
  recording.path = paths.front();
  recording.paths = paths;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
      return absl::NotFoundError(absl::StrCat(path, ": no such file or directory"));
    }
    if (status.type() == fs::file_type::directory) {
      PLATEAU_RETURN_IF_ERROR(AddDirectory(path, &recording));
      if (const auto ending = ReadWholeFile(absl::StrCat(path, "/", kEndingFile), 4096); ending.ok()) {
        recording.ending = ending->substr(0, ending->find('\n'));
      }
      continue;
    }
    PLATEAU_ASSIGN_OR_RETURN(const Peek peek, PeekHeader(path));
    recording.traces.push_back({path, peek.header});  // whether it is a trace, its reader says better
  }
  std::stable_sort(recording.traces.begin(), recording.traces.end(),
                   [](const TraceFile& a, const TraceFile& b) {
                     return std::pair(a.header.start_realtime_ns, a.header.pid) <
                            std::pair(b.header.start_realtime_ns, b.header.pid);
                   });
  return recording;
}

uint64_t LastWriteRealtimeNs(const Recording& recording) {
  uint64_t last = 0;
  for (const TraceFile& trace : recording.traces)
    last = std::max({last, trace.header.clock_realtime_ns, trace.header.start_realtime_ns});
  return last;
}

namespace {

struct Stretch {
  std::vector<std::string> paths;
  std::string directory;  // of a file; empty for a directory
  uint64_t begin = UINT64_MAX, end = 0;

  bool BelongsWith(const Stretch& other) const {
    if (!directory.empty() && directory == other.directory) return true;
    return begin <= other.end && other.begin <= end;
  }
  void Take(const Stretch& other) {
    paths.insert(paths.end(), other.paths.begin(), other.paths.end());
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

}  // namespace

absl::StatusOr<std::vector<Recording>> OpenRuns(const std::vector<std::string>& paths) {
  if (paths.empty()) return absl::InvalidArgumentError("no recording given");
  std::vector<Stretch> runs;
  for (const std::string& path : paths) {
    PLATEAU_ASSIGN_OR_RETURN(const Recording one, OpenRecording({path}));
    Stretch stretch{.paths = {path}, .directory = {}};
    std::error_code error;
    if (!fs::is_directory(path, error)) stretch.directory = fs::absolute(path, error).parent_path();
    for (const TraceFile& trace : one.traces)
      stretch.begin = std::min(stretch.begin, trace.header.start_realtime_ns);
    stretch.end = LastWriteRealtimeNs(one);
    // It may join runs that did not belong together before.
    for (size_t i = runs.size(); i-- > 0;) {
      if (!runs[i].BelongsWith(stretch)) continue;
      Stretch joined = std::move(runs[i]);
      joined.Take(stretch);
      stretch = std::move(joined);
      runs.erase(runs.begin() + static_cast<ptrdiff_t>(i));
    }
    runs.push_back(std::move(stretch));
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Recording> recordings;
  for (const Stretch& run : runs) {
    PLATEAU_ASSIGN_OR_RETURN(Recording recording, OpenRecording(run.paths));
    recordings.push_back(std::move(recording));
  }
  return recordings;
}

}  // namespace plateau::reader
