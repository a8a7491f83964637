// Puts libplateau_attach.so into a process that runs, by the method of docs/attach.md.
//
// Everything is read from outside first. Then three writes, each harmless by itself, so that this process may be killed at
// any moment: the blob, the constants and the state go into unused ends of pages; then, while all threads stand, import words
// of the allocator's functions are led to the blob. The next thread that allocates opens the library. Words that the library
// has not taken over go back to what they held; when nobody allocates in time, all of them do.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_INJECTOR_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_INJECTOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {

struct InjectionOptions {
  std::string library;
  std::vector<std::pair<std::string, std::string>> shim_options;  // of preload/base/options.inc
  uint64_t end_after_ms = 0, end_after_steps = 0;
  bool may_stop_threads = true;  // else words are written while the threads run
  bool use_memory_file = false;  // the target cannot open the library by its path
  int wait_ms = 10'000;          // for a thread that allocates
};

struct Injection {
  double total_ms = 0;
  double first_stop_ms = 0, second_stop_ms = 0;  // how long the threads stood
  double wait_ms = 0;                            // until a thread came by and had loaded
  double held_ms = 0;                            // how long that thread was held up
  double patched_ms = 0;                         // of that, in looking at all modules
  size_t words_led = 0, words_put_back = 0;
  uint32_t passed_over = 0;
  uint32_t words = 0, modules = 0, modules_left_out = 0;
  bool program_imports = true;
};

// Fails with the reason; the target is then as it was. DeadlineExceeded: nobody allocated. Aborted: the library is being
// loaded and takes long. Unavailable: it has just been detached, try again.
absl::StatusOr<Injection> Inject(TargetProcess& target, const InjectionOptions& options);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_INJECTOR_H_
