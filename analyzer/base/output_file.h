// A file that appears whole, private and under its own name, or not at all.
//
// Written beside its place under another name and renamed over it by Commit(), so a reader never sees half
// of it and a failure leaves what was there. Created with mode 0600, because reports hold paths, command
// lines and source lines, also where it replaces a file that others could read. A symbolic
// link at the name is replaced, never written through. What is not a regular file (a terminal, a pipe,
// /dev/stdout) is written directly.
//
// One thread. Errors name the file. Without Commit() the destructor removes what was written.
#ifndef PLATEAU_ANALYZER_BASE_OUTPUT_FILE_H_
#define PLATEAU_ANALYZER_BASE_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plateau {

class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  absl::Status Write(std::string_view bytes);
  absl::Status Commit();

  // Where the bytes are until Commit(): for writers that open files by name themselves.
  const std::string& temporary_path() const { return temporary_; }

 private:
  OutputFile(std::string path, std::string temporary, int fd);

  std::string path_;
  std::string temporary_;  // equal to path_ when it is written directly
  int fd_ = -1;
};

// Create, Write and Commit in one.
absl::Status WriteWholeFile(const std::string& path, std::string_view bytes);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_OUTPUT_FILE_H_
