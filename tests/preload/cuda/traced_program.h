// Runs a program of programs/ on the null device under libplateau_cuda.so and reads the events it caused.
#ifndef PLATEAU_TESTS_PRELOAD_CUDA_TRACED_PROGRAM_H_
#define PLATEAU_TESTS_PRELOAD_CUDA_TRACED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plateau::cuda {

struct TracedEvent {
  std::string op, level, memory, api, caller;
  int device = -1;
  int graph = 0;
  uint64_t address = 0, bytes = 0, handle = 0, total_bytes = 0;
};

struct TracedRun {
  int exit_code = -1;
  std::string output;
  std::vector<TracedEvent> events;  // without pool polls
  std::vector<TracedEvent> pools;
  std::map<std::string, int> handed_out;
  std::map<std::string, int> unwrapped;

  int Count(const std::string& op) const;
};

// `command` is relative to the program folder. `with_shim` false: the same without libplateau_cuda.so.
TracedRun RunTraced(const std::string& command, const std::string& environment = "", bool with_shim = true);

// "alloc device 10001" and the like, one per event.
std::vector<std::string> Summaries(const std::vector<TracedEvent>& events);

}  // namespace plateau::cuda

#endif  // PLATEAU_TESTS_PRELOAD_CUDA_TRACED_PROGRAM_H_
