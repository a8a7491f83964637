#include "analyzer/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/status_macros.h"

namespace plateau {

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // Non-blocking, so that a named pipe is refused below instead of waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
    return absl::ErrnoToStatus(errno, path);
  }
  InputFile file(path, fd);
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(absl::StrCat(path, ": not a regular file"));
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<uint64_t> InputFile::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return absl::ErrnoToStatus(errno, path_);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<size_t> InputFile::Read(uint64_t offset, void* buffer, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd_, static_cast<char*>(buffer) + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": read at offset ", offset + done));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes) {
  PLATEAU_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string text;
  // Files of /proc have size 0: read until nothing comes.
  for (size_t step = 64 * 1024;; step *= 2) {
    const size_t before = text.size();
    text.resize(before + step);
    PLATEAU_ASSIGN_OR_RETURN(const size_t n, file.Read(before, text.data() + before, step));
    text.resize(before + n);
    if (text.size() > max_bytes) {
      return absl::OutOfRangeError(absl::StrCat(path, ": larger than ", max_bytes, " bytes"));
    }
    if (n < step) return text;
  }
}

std::string_view FileWindow::View(uint64_t offset, size_t size) {
  if (offset < begin_ || offset + size > begin_ + filled_) {
    if (buffer_.size() < size) buffer_.resize(size);
    const absl::StatusOr<size_t> n = file_->Read(offset, buffer_.data(), buffer_.size());
    begin_ = offset;
    filled_ = n.ok() ? *n : 0;
    if (!n.ok()) status_ = n.status();
  }
  const size_t skip = static_cast<size_t>(offset - begin_);
  return std::string_view(buffer_).substr(0, filled_).substr(skip, size);
}

}  // namespace plateau
