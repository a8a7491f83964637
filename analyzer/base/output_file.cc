#include "analyzer/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/status_macros.h"

namespace plateau {

OutputFile::OutputFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (temporary_ != path_) unlink(temporary_.c_str());
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return absl::ErrnoToStatus(errno, path);
    return OutputFile(path, path, fd);
  }
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);  // O_EXCL and mode 0600
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  return OutputFile(path, temporary, fd);
}

absl::Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, path_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  const int fd = std::exchange(fd_, -1);
  const bool is_direct = temporary_ == path_;
  if (close(fd) == 0 && (is_direct || rename(temporary_.c_str(), path_.c_str()) == 0))
    return absl::OkStatus();
  absl::Status status = absl::ErrnoToStatus(errno, path_);
  if (!is_direct) unlink(temporary_.c_str());
  return status;
}

absl::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  PLATEAU_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  PLATEAU_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

}  // namespace plateau
