#include "analyzer/cli/attach/attach_run.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"

namespace plateau::cli {
namespace {

constexpr int kTriesAfterDetach = 20;
constexpr int kPauseUs = 100'000;

uint64_t ResidentBytes(const TargetProcess& target) {
  uint64_t kib = 0;
  const std::string text = target.Status("VmRSS");
  return absl::SimpleAtoi(text.substr(0, text.find(' ')), &kib) ? kib * 1024 : 0;
}

absl::Status Refuse(const TargetProcess& target, const Suitability& found, const AttachOptions& options) {
  if (found.is_gone)
    return absl::NotFoundError(absl::StrCat("process ", target.pid(), ": ", found.objections[0]));
  const std::string who = absl::StrCat(target.Name(), " (pid ", target.pid(), ") cannot be attached to: ");
  if (!found.objections.empty())
    return absl::FailedPreconditionError(absl::StrCat(who, absl::StrJoin(found.objections, "; ")));
  if (FindAttachedTrace(target).ok())
    return absl::FailedPreconditionError(absl::StrCat(
        who, "it is recorded already, by an earlier attach or since its parent was (`plateau detach ",
        target.pid(), "`)"));
  if (found.is_traced && options.may_stop_threads)
    return absl::FailedPreconditionError(
        absl::StrCat(who, "another process traces it (a debugger?); end that, or use --no-stop"));
  if (!found.has_filter || options.trust_filter) return absl::OkStatus();
  const absl::Status answer = AskFilters(target);
  if (answer.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(who, answer.message(),
                   absl::IsUnavailable(answer)
                       ? "; run plateau as root on the host, or use --trust-filter if it ends no process"
                       : ""));
}

}  // namespace

absl::StatusOr<Attached> AttachTo(pid_t pid, const AttachOptions& options) {
  TargetProcess target(pid);
  const Suitability found = LookAtProcess(target, options.library);
  PLATEAU_RETURN_IF_ERROR(Refuse(target, found, options));
  Attached attached;
  attached.name = target.Name();
  attached.resident_bytes = ResidentBytes(target);
  PLATEAU_ASSIGN_OR_RETURN(attached.place, MakePlace(target, found, options.out));
  InjectionOptions injection;
  injection.library = options.library;
  injection.may_stop_threads = options.may_stop_threads;
  injection.use_memory_file = options.use_memory_file || found.needs_memory_file;
  injection.end_after_ms = options.end_after_ms;
  injection.end_after_steps = options.end_after_steps;
  injection.wait_ms = options.wait_ms;
  // The program's output is its own: what the library has to say, its answer says.
  injection.shim_options = {{"PLATEAU_OUT", attached.place.inside},
                            {"PLATEAU_QUIET", "1"},
                            {"PLATEAU_MODE", options.is_exact ? "exact" : "default"}};
  absl::StatusOr<Injection> done;
  for (int tries = 0;; ++tries) {
    done = Inject(target, injection);
    if (done.ok() || !absl::IsUnavailable(done.status()) || tries == kTriesAfterDetach) break;
    usleep(kPauseUs);
  }
  if (!done.ok()) {
    rmdir(attached.place.outside.c_str());
    return absl::Status(
        done.status().code(),
        absl::StrCat(attached.name, " (pid ", pid, ") was not attached to: ", done.status().message()));
  }
  attached.injection = *done;
  return attached;
}

std::vector<std::string> Sentences(pid_t pid, const Attached& attached) {
  const Injection& injection = attached.injection;
  std::error_code ignored;
  std::vector<std::string> sentences;
  const double stopped_ms = injection.first_stop_ms + injection.second_stop_ms;
  sentences.push_back(absl::StrFormat(
      "attached to %s (pid %d) in %.0f ms; %s; recording in %s/", attached.name, pid, injection.total_ms,
      stopped_ms > 0 ? absl::StrFormat("it stood still for %.1f ms", stopped_ms) : "no thread was stopped",
      std::filesystem::proximate(attached.place.outside, ignored).string()));
  sentences.push_back(absl::StrCat(FormatBytes(static_cast<double>(attached.resident_bytes)),
                                   " were resident before; what is judged is what is born from now on"));
  if (!injection.program_imports)
    sentences.push_back(
        "the program itself imports no function of an allocator (it may bring its own): its own calls are "
        "not seen, those of its libraries are");
  if (injection.modules_left_out > 0)
    sentences.push_back(
        absl::StrCat(injection.modules_left_out, " of ", injection.modules + injection.modules_left_out,
                     " modules are not seen: another tool, or the loader, is at work on them"));
  return sentences;
}

}  // namespace plateau::cli
