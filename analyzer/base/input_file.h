// A file that is read in pieces and may grow, shrink or vanish meanwhile.
//
// Reads with pread(2), never through a mapping: a file that is cut while a mapping of it is read would end
// the analyzer with SIGBUS, and a recording of a running program changes all the time.
//
// Thread-safe after Open(). Errors name the file. A read past the end gives fewer bytes, not an error.
#ifndef PLATEAU_ANALYZER_BASE_INPUT_FILE_H_
#define PLATEAU_ANALYZER_BASE_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plateau {

class InputFile {
 public:
  // NotFound when there is no such file; FailedPrecondition for what is not a regular file.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  // Size right now.
  absl::StatusOr<uint64_t> Size() const;

  // Up to `size` bytes from `offset`; fewer at the end of the file.
  absl::StatusOr<size_t> Read(uint64_t offset, void* buffer, size_t size) const;

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// A whole small file (a /proc file, a JSON document); OutOfRange when it is larger than `max_bytes`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes = size_t{1} << 30);

// Reads ahead in one buffer, for walking through a file from front to back.
class FileWindow {
 public:
  FileWindow(const InputFile* file, size_t buffer_bytes) : file_(file), buffer_(buffer_bytes, '\0') {}

  // A view of up to `size` bytes at `offset`, valid until the next call; shorter at the end of the file or on
  // an error, which status() then has.
  std::string_view View(uint64_t offset, size_t size);
  const absl::Status& status() const { return status_; }

 private:
  const InputFile* file_;
  std::string buffer_;
  uint64_t begin_ = 0;
  size_t filled_ = 0;
  absl::Status status_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_INPUT_FILE_H_
