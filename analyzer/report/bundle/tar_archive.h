// tar.zst: files by name, in memory.
//
// Plain POSIX ustar with names of up to 100 bytes, owner 0, a fixed time, so that equal contents give equal
// bytes and nothing about the machine is told. Reading refuses absolute names, "..", sums that do not match,
// and archives that unpack to more than `max_bytes`, or to more than 16 MiB and 200 times their own size: a report
// packs to a tenth, a trace to a tenth of that at the best.
#ifndef PLATEAU_ANALYZER_REPORT_BUNDLE_TAR_ARCHIVE_H_
#define PLATEAU_ANALYZER_REPORT_BUNDLE_TAR_ARCHIVE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plateau::report {

struct ArchiveFile {
  std::string name;
  std::string content;
};

absl::StatusOr<std::string> PackArchive(const std::vector<ArchiveFile>& files);
absl::StatusOr<std::vector<ArchiveFile>> UnpackArchive(absl::string_view bytes,
                                                       size_t max_bytes = size_t{2} << 30);

// Whether the bytes start like a zstd stream.
bool LooksLikeArchive(absl::string_view bytes);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUNDLE_TAR_ARCHIVE_H_
