#include "preload/ledger/process_info.h"

#include <sys/utsname.h>

#include <cstring>
#include <string_view>

#include "preload/base/clock.h"
#include "preload/base/options.h"
#include "preload/base/system_call.h"
#include "preload/ledger/job_identity.h"
#include "preload/ledger/secrets.h"

extern "C" char** environ;

namespace plateau {
namespace {

constexpr std::string_view kVersion = PLATEAU_VERSION;
constexpr std::string_view kFollow = "PLATEAU_FOLLOW=";
constexpr std::string_view kOut = "PLATEAU_OUT=";

// Recorded as env:NAME when set, beside those of launchers: what changes how memory behaves.
constexpr const char* kMemoryVariables[] = {"PYTHONMALLOC",
                                            "PYTHONMALLOCSTATS",
                                            "PYTORCH_CUDA_ALLOC_CONF",
                                            "PYTORCH_ALLOC_CONF",
                                            "PYTORCH_HIP_ALLOC_CONF",
                                            "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                            "CUDA_VISIBLE_DEVICES",
                                            "OMP_NUM_THREADS",
                                            "MKL_NUM_THREADS",
                                            "GLIBC_TUNABLES",
                                            "LD_PRELOAD"};
constexpr std::string_view kVariablePrefixes[] = {"MALLOC_", "PLATEAU_"};

void PutNumber(const InfoSink& sink, std::string_view key, uint64_t value) {
  FixedText<24> text;
  text << value;
  sink.put(sink.context, key, text.view());
}

// Threads may have small stacks; one process at a time gets here.
constinit char g_text[8192] = {};
constinit char g_masked[8192] = {};

// What of a variable's value goes into the trace; valid until the next call.
std::string_view Shown(std::string_view name, std::string_view value) {
  if (g_options.keep_arguments) return value;
  return {g_masked, MaskValue(name, value, g_masked, sizeof(g_masked))};
}

void PutLink(const InfoSink& sink, std::string_view key, const char* link) {
  const long size = sys::Call(SYS_readlinkat, AT_FDCWD, sys::Arg(link), sys::Arg(g_text), sizeof(g_text));
  if (size > 0) sink.put(sink.context, key, {g_text, static_cast<size_t>(size)});
}

void PutVariable(const InfoSink& sink, const char* name) {
  const char* value = EnvironmentVariable(name);
  if (value == nullptr) return;
  FixedText<128> key;
  key << "env:" << name;
  sink.put(sink.context, key.view(), Shown(name, value));
}

void PutEnvironment(const InfoSink& sink) {
  FixedText<128> key;
  for (size_t i = 0; i < kJobVariableCount; ++i) PutVariable(sink, kJobVariables[i]);
  for (const char* name : kMemoryVariables) PutVariable(sink, name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    for (std::string_view prefix : kVariablePrefixes) {
      const size_t equals = text.find('=');
      if (text.substr(0, prefix.size()) != prefix || equals == std::string_view::npos) continue;
      key.Clear();
      key << "env:" << text.substr(0, equals);
      sink.put(sink.context, key.view(), Shown(text.substr(0, equals), text.substr(equals + 1)));
    }
  }
}

void PutJobIdentity(const InfoSink& sink) {
  if (const char* rank = RankOfProcess()) sink.put(sink.context, "rank", Shown("rank", rank));
  if (const char* job = JobOfProcess()) sink.put(sink.context, "job", Shown("job", job));
  if (const char* version = CodeVersionOfProcess())
    sink.put(sink.context, "code_version", Shown("code_version", version));
  if (const HostName host = ReadHostName(); host.size() > 0) sink.put(sink.context, "host", host.view());
  if (const PodUid pod = ReadPodUid(); pod.size() > 0) sink.put(sink.context, "pod", pod.view());
}

// `arguments` are separated by zeros.
std::string_view RoleOf(std::string_view arguments, bool is_forked_child) {
  if (is_forked_child) return "forked worker";
  if (arguments.find("resource_tracker") != std::string_view::npos) return "resource tracker";
  if (arguments.find("multiprocessing.spawn") != std::string_view::npos) return "spawned worker";
  if (arguments.find("multiprocessing.forkserver") != std::string_view::npos) return "fork server";
  return "main";
}

}  // namespace

ProgramName ReadProgramName() {
  const long size =
      sys::Call(SYS_readlinkat, AT_FDCWD, sys::Arg("/proc/self/exe"), sys::Arg(g_text), sizeof(g_text));
  std::string_view path(g_text, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t slash = path.rfind('/');
  ProgramName name;
  name << (slash == std::string_view::npos ? path : path.substr(slash + 1));
  return name;
}

bool FollowOnlyThisProcess(char** environment) {
  static constinit FixedText<64> replacement;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kFollow.data(), kFollow.size()) != 0) continue;
    const char* value = *entry + kFollow.size();
    FixedText<64> mine;
    mine << kFollow << "0:" << sys::Getpid();
    if (value[1] == ':') return mine.view() == *entry;
    replacement = mine;
    *entry = const_cast<char*>(replacement.c_str());
    return true;
  }
  return true;
}

void PinDirectory(char** environment) {
  static constinit FixedText<4096> replacement;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kOut.data(), kOut.size()) != 0) continue;
    const char* value = *entry + kOut.size();
    const long size = sys::Call(SYS_getcwd, sys::Arg(g_text), sizeof(g_text));
    if (value[0] == '/' || value[0] == 0 || size <= 1) return;
    replacement.Clear();
    replacement << kOut;
    for (const char* c = g_text; *c != 0; ++c)
      replacement << (*c == '%' ? "%" : "") << *c;  // see ExpandDirectory()
    replacement << "/" << value;
    if (replacement.size() + 1 < 4096) *entry = const_cast<char*>(replacement.c_str());
    return;
  }
}

void DescribeProcess(bool is_forked_child, const InfoSink& sink) {
  sink.put(sink.context, "version", kVersion);
  PutLink(sink, "exe", "/proc/self/exe");
  PutLink(sink, "cwd", "/proc/self/cwd");
  char* arguments = g_text;
  size_t size = sys::ReadFile("/proc/self/cmdline", arguments, sizeof(g_text));
  while (size > 0 && arguments[size - 1] == 0) --size;
  const std::string_view role = RoleOf({arguments, size}, is_forked_child);
  if (!g_options.keep_arguments) {
    size = MaskArguments({arguments, size}, g_masked, sizeof(g_masked));
    arguments = g_masked;
  }
  for (size_t i = 0; i < size; ++i) {
    if (arguments[i] == 0) arguments[i] = ' ';
  }
  sink.put(sink.context, "cmdline", {arguments, size});
  sink.put(sink.context, "role", role);
  PutNumber(sink, "parent", static_cast<uint64_t>(sys::Call(SYS_getppid)));
  PutJobIdentity(sink);
  utsname system;
  if (!sys::Failed(sys::Call(SYS_uname, sys::Arg(&system)))) sink.put(sink.context, "kernel", system.release);
  uint64_t cpus[128] = {};
  const long bytes = sys::Call(SYS_sched_getaffinity, 0, sizeof(cpus), sys::Arg(cpus));
  uint64_t count = 0;
  for (long i = 0; i < bytes / 8; ++i) count += static_cast<uint64_t>(__builtin_popcountll(cpus[i]));
  PutNumber(sink, "cpus", count);
  sink.put(sink.context, "clock", g_clock.is_monotonic_ns ? "monotonic" : "tsc");
  PutEnvironment(sink);
}

}  // namespace plateau
