#include "tests/preload/cuda/traced_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace plateau::cuda {
namespace {

// The value of " name=" in a line of the recorder.
std::string Field(const std::string& line, const std::string& name) {
  const size_t start = line.find(" " + name + "=");
  if (start == std::string::npos) return "";
  const size_t begin = start + name.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

TracedEvent ParseEvent(const std::string& line) {
  TracedEvent event;
  std::istringstream(line) >> event.op >> event.level >> event.memory;
  event.device = atoi(Field(line, "gpu").c_str());
  event.graph = atoi(Field(line, "graph").c_str());
  event.address = strtoull(Field(line, "addr").c_str(), nullptr, 16);
  event.bytes = strtoull(Field(line, "bytes").c_str(), nullptr, 10);
  event.handle = strtoull(Field(line, "handle").c_str(), nullptr, 16);
  event.total_bytes = strtoull(Field(line, "total").c_str(), nullptr, 10);
  event.api = Field(line, "api");
  event.caller = Field(line, "caller");
  return event;
}

}  // namespace

int TracedRun::Count(const std::string& op) const {
  int count = 0;
  for (const TracedEvent& event : events) count += event.op == op ? 1 : 0;
  return count;
}

TracedRun RunTraced(const std::string& command, const std::string& environment, bool with_shim) {
  char log[] = "/tmp/plateau_cuda_XXXXXX";
  close(mkstemp(log));
  const std::string preload =
      with_shim ? "LD_PRELOAD=" CUDA_SHIM ":" PROGRAM_DIR "/libdevice_event_recorder.so " : "";
  const std::string line =
      "cd " PROGRAM_DIR " && env LD_LIBRARY_PATH=" NULL_DEVICE_DIR " DEVICE_EVENT_LOG=" + std::string(log) +
      " " + environment + " " + preload + "./" + command + " 2>&1";
  TracedRun run;
  FILE* pipe = popen(line.c_str(), "r");
  char buffer[512];
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) run.output += buffer;
  const int status = pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

  std::ifstream file(log);
  for (std::string text; std::getline(file, text);) {
    if (text.rfind("handed ", 0) == 0) {
      std::istringstream fields(text.substr(7));
      std::string name;
      fields >> name;
      fields >> run.handed_out[name] >> run.unwrapped[name];
      continue;
    }
    const TracedEvent event = ParseEvent(text);
    (event.op == "pool" ? run.pools : run.events).push_back(event);
  }
  unlink(log);
  return run;
}

std::vector<std::string> Summaries(const std::vector<TracedEvent>& events) {
  std::vector<std::string> lines;
  for (const TracedEvent& event : events) {
    std::string line = event.op + " " + event.memory;
    if (event.bytes != 0) line += " " + std::to_string(event.bytes);
    if (event.graph != 0) line += " graph";
    lines.push_back(line);
  }
  return lines;
}

}  // namespace plateau::cuda
