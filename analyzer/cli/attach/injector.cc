#include "analyzer/cli/attach/injector.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/attach/blob.h"
#include "analyzer/cli/attach/import_words.h"
#include "analyzer/cli/attach/stopped_threads.h"

namespace plateau::cli {
namespace {

constexpr uint64_t kPageBytes = 4096, kAlign = 64;
constexpr int kStopLimitMs = 2000;
constexpr int kPollUs = 300;

double MsSince(uint64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1e6; }

// Where the blob, its constants and its state are, or can be.
struct Places {
  uint64_t blob = 0, constants = 0, state = 0;
  bool is_old = false;  // left there by an earlier attach
};

// The unused end of the last page of a segment.
struct Tail {
  uint64_t begin, end;
  uint32_t flags;
};

std::vector<Tail> FindTails(const TargetModules& modules) {
  std::vector<Tail> tails;
  for (const TargetModule& module : modules.all()) {
    // The loader's own allocator begins at the end of its data. The program's heap begins on a page of its own.
    if (modules.IsLoader(module) || modules.IsVdso(module)) continue;
    for (const TargetModule::Segment& segment : module.segments) {
      const uint64_t begin = (segment.end + kAlign - 1) / kAlign * kAlign;
      const uint64_t end = (segment.end + kPageBytes - 1) / kPageBytes * kPageBytes;
      if (begin < end) tails.push_back({begin, end, segment.flags});
    }
  }
  return tails;
}

bool IsBlob(const TargetProcess& target, uint64_t address, const BlobBytes& blob) {
  std::vector<unsigned char> bytes(blob.size);
  if (!target.Read(address, bytes.data(), bytes.size())) return false;
  memcpy(bytes.data() + blob.constants_offset, blob.begin + blob.constants_offset, sizeof(uint64_t));
  return memcmp(bytes.data(), blob.begin, blob.size) == 0;
}

bool IsZero(const TargetProcess& target, uint64_t address, size_t bytes) {
  std::vector<char> read(bytes);
  return target.Read(address, read.data(), bytes) &&
         std::all_of(read.begin(), read.end(), [](char c) { return c == 0; });
}

absl::StatusOr<Places> FindPlaces(const TargetProcess& target, const TargetModules& modules,
                                  const BlobBytes& blob) {
  std::vector<Tail> tails = FindTails(modules);
  for (const Tail& tail : tails) {
    if ((tail.flags & PF_X) == 0 || tail.begin + blob.size > tail.end || !IsBlob(target, tail.begin, blob))
      continue;
    const auto constants = target.Get<uint64_t>(tail.begin + blob.constants_offset);
    const auto state = constants ? target.Get<uint64_t>(*constants) : std::nullopt;
    if (state && *state != 0) return Places{tail.begin, *constants, *state, true};
  }
  Places places;
  // The smallest room that is large enough, so that the large ones are left for what needs them.
  const auto take = [&](uint32_t wanted_flags, size_t bytes) -> uint64_t {
    Tail* best = nullptr;
    for (Tail& tail : tails) {
      if ((tail.flags & wanted_flags) != wanted_flags || tail.begin + bytes > tail.end) continue;
      if (wanted_flags == PF_R && (tail.flags & PF_W) != 0) continue;
      if (best != nullptr && tail.end - tail.begin >= best->end - best->begin) continue;
      if (IsZero(target, tail.begin, bytes)) best = &tail;
    }
    if (best == nullptr) return 0;
    const uint64_t at = best->begin;
    best->begin = (at + bytes + kAlign - 1) / kAlign * kAlign;
    return at;
  };
  places.blob = take(PF_R | PF_X, blob.size);
  places.constants = take(PF_R, sizeof(BlobConstants));
  places.state = take(PF_R | PF_W, sizeof(BlobState));
  if (places.blob == 0 || places.constants == 0 || places.state == 0)
    return absl::ResourceExhaustedError("there is no room for 3 KiB in the unused ends of its pages");
  return places;
}

// The loader's locks are recursive mutexes in its global data, whose owner can be read: kind 1 and nothing odd around it.
void FindLoaderLocks(const TargetProcess& target, const TargetModules& modules,
                     uint64_t (&locks)[kMaxLoaderLocks]) {
  uint64_t bytes = 0;
  const uint64_t begin = modules.Find(target, *modules.loader(), "_rtld_global", &bytes);
  if (begin == 0 || bytes > (1 << 20)) return;
  std::vector<uint32_t> words(bytes / 4);
  if (!target.Read(begin, words.data(), words.size() * 4)) return;
  size_t count = 0;
  for (size_t i = 0; i + 10 <= words.size() && count < kMaxLoaderLocks; i += 2) {
    const uint32_t* w = words.data() + i;  // lock, count, owner, users, kind, spins, list
    const bool is_lock = w[4] == 1 && w[0] <= 2 && w[1] < 64 && w[5] == 0 && w[6] == 0 && w[7] == 0 &&
                         w[8] == 0 && w[9] == 0 && (w[2] == 0) == (w[1] == 0);
    if (!is_lock) continue;
    locks[count++] = begin + i * 4;
    i += 8;
  }
}

absl::StatusOr<BlobConstants> MakeConstants(const TargetProcess& target, const TargetModules& modules,
                                            const InjectionOptions& options) {
  BlobConstants constants = {};
  const auto find = [&](const char* name, auto* function) {
    const uint64_t address = modules.FindFirst(target, name);
    memcpy(function, &address, sizeof(address));
    return address != 0;
  };
  for (size_t i = 0; i < kBlobFunctionCount; ++i) {
    const bool is_operator = i >= kBlobOperators && i != kBlobFork;
    if (!find(kBlobFunctions[i], &constants.real[i]) && !is_operator)
      return absl::FailedPreconditionError(
          absl::StrCat("no module of the program defines ", kBlobFunctions[i]));
  }
  if (!find("dlopen", &constants.dlopen) || !find("dlerror", &constants.dlerror) ||
      !find("dlsym", &constants.dlsym))
    return absl::FailedPreconditionError(
        "the program has no dlopen (a glibc before 2.34, and libdl is not loaded)");
  find("__errno_location", &constants.errno_location);
  FindLoaderLocks(target, modules, constants.loader_locks);
  constants.use_memory_file = options.use_memory_file;
  if (options.library.size() >= sizeof(constants.path))
    return absl::InvalidArgumentError(absl::StrCat(options.library, ": the path is too long"));
  memcpy(constants.path, options.library.c_str(), options.library.size() + 1);
  static_assert(sizeof(kAttachEntry) <= sizeof(constants.entry_name));
  memcpy(constants.entry_name, kAttachEntry, sizeof(kAttachEntry));
  AttachRequest& request = constants.request;
  request.version = kAttachVersion;
  request.end_after_ms = options.end_after_ms;
  request.end_after_steps = options.end_after_steps;
  size_t used = 0;
  for (const auto& [name, value] : options.shim_options) {
    const std::string text = absl::StrCat(name, "=", value);
    if (used + text.size() + 2 > AttachRequest::kOptionBytes)
      return absl::InvalidArgumentError("the path of the recording is too long");
    memcpy(request.options + used, text.c_str(), text.size() + 1);
    used += text.size() + 1;
  }
  return constants;
}

// The library's bytes, into the file that the blob has made.
absl::Status FillMemoryFile(const TargetProcess& target, int fd, const std::string& library) {
  std::ifstream in(library, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const std::string text = bytes.str();
  const int out = open(target.Proc(absl::StrCat("fd/", fd)).c_str(), O_WRONLY | O_CLOEXEC);
  if (text.empty() || out < 0)
    return absl::InternalError(absl::StrCat("cannot fill the memory file: ", strerror(errno)));
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(out, text.data() + done, text.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  close(out);
  return done == text.size() ? absl::OkStatus() : absl::InternalError("cannot fill the memory file");
}

class Injector {
 public:
  Injector(TargetProcess& target, const InjectionOptions& options)
      : target_(target), options_(options), stopped_(target) {}

  absl::StatusOr<Injection> Run() {
    const uint64_t begin_ns = NowNs();
    PLATEAU_RETURN_IF_ERROR(Prepare());
    PLATEAU_RETURN_IF_ERROR(LeadWords());
    const absl::Status came = Wait();
    PLATEAU_RETURN_IF_ERROR(PutBack());
    if (!came.ok()) return came;
    result_.total_ms = MsSince(begin_ns);
    return result_;
  }

 private:
  absl::Status Prepare() {
    blob_ = GetBlobBytes();
    if (blob_.size == 0) return absl::UnimplementedError("plateau attach needs an x86-64 processor");
    PLATEAU_RETURN_IF_ERROR(modules_.Load(target_));
    PLATEAU_ASSIGN_OR_RETURN(constants_, MakeConstants(target_, modules_, options_));
    PLATEAU_ASSIGN_OR_RETURN(places_, FindPlaces(target_, modules_, blob_));
    range_ = {places_.blob, places_.blob + blob_.size};
    PLATEAU_RETURN_IF_ERROR(QuietOldBlob());
    for (const TargetModule& module : modules_.all()) {
      if (const uint64_t entry = modules_.Find(target_, module, kAttachEntry)) {
        library_ = &module;
        memcpy(&constants_.entry, &entry, sizeof(entry));
        constants_.use_memory_file = 0;
      } else if (modules_.Find(target_, module, "plateau_is_recording") != 0) {
        return absl::FailedPreconditionError(
            "libplateau.so was preloaded into it, which records it or was told not to");
      }
    }
    words_ = FindImportWords(target_, modules_, {std::begin(kBlobFunctions), std::end(kBlobFunctions)},
                             {std::begin(constants_.real), std::end(constants_.real)}, library_, range_);
    if (words_.empty() && library_ != nullptr)
      return absl::FailedPreconditionError("it is recorded already: its calls lead to our hooks");
    if (words_.empty())
      return absl::FailedPreconditionError("no module of the program imports functions of the allocator");
    return WriteBlob();
  }

  // One that waits was left by an injector that was killed.
  absl::Status QuietOldBlob() {
    if (!places_.is_old) return absl::OkStatus();
    const uint32_t disarmed = kBlobDisarmed;
    if (Progress() == kBlobWaiting) target_.Write(places_.state, &disarmed, sizeof(disarmed));
    const BlobState state = target_.Get<BlobState>(places_.state).value_or(BlobState{});
    // A thread may have come at that very moment; then our word is over its own until it has loaded.
    const bool is_over =
        state.progress == kBlobLoaded || state.progress == kBlobFailed || state.progress == kBlobFileMade;
    if (state.loader_thread != 0 && !is_over)
      return absl::UnavailableError("another plateau attaches to it at this moment");
    return absl::OkStatus();
  }

  absl::Status WriteBlob() {
    BlobState state = {};
    if (places_.is_old)
      state = target_.Get<BlobState>(places_.state).value_or(state);  // its stack is used again
    const uint64_t stack_top = state.stack_top;
    state = {};
    state.stack_top = stack_top;
    state.fd = -1;
    state.progress = kBlobDisarmed;
    constants_.state = reinterpret_cast<BlobState*>(places_.state);
    constants_.request.blob_begin = range_.begin;
    constants_.request.blob_end = range_.end;
    std::vector<unsigned char> bytes(blob_.begin, blob_.begin + blob_.size);
    memcpy(bytes.data() + blob_.constants_offset, &places_.constants, sizeof(places_.constants));
    const bool is_written = target_.Write(places_.state, &state, offsetof(BlobState, forks)) &&
                            target_.Write(places_.constants, &constants_, sizeof(constants_)) &&
                            (places_.is_old || target_.Write(places_.blob, bytes.data(), bytes.size()));
    return is_written ? absl::OkStatus()
                      : absl::PermissionDeniedError(
                            "its memory cannot be written (a rule of SELinux, or proc_mem.force_override)");
  }

  uint32_t Progress() const { return target_.Get<uint32_t>(places_.state).value_or(kBlobDisarmed); }
  void SetProgress(uint32_t progress) { target_.Write(places_.state, &progress, sizeof(progress)); }

  void LeadAll() {
    for (const ImportWord& word : words_) {
      result_.words_led +=
          LeadWord(target_, word, places_.blob + blob_.entry_offset + word.function * kBlobEntryBytes);
    }
  }

  absl::Status LeadWords() {
    SetProgress(kBlobWaiting);
    if (!options_.may_stop_threads) {
      LeadAll();
      return absl::OkStatus();
    }
    for (int tries = 0;; ++tries) {
      const uint64_t begin_ns = NowNs();
      PLATEAU_RETURN_IF_ERROR(stopped_.Stop(kStopLimitMs));
      const bool is_consistent = modules_.IsConsistent(target_);
      if (is_consistent) LeadAll();
      stopped_.LetGo();
      result_.first_stop_ms = std::max(result_.first_stop_ms, MsSince(begin_ns));
      if (is_consistent) return absl::OkStatus();
      if (tries == 200) return absl::UnavailableError("its loader is at work all the time; try again");
      usleep(5000);
    }
  }

  absl::Status Wait() {
    const uint64_t begin_ns = NowNs();
    processor_seconds_ = target_.ProcessorSeconds();
    const uint64_t wait_ns = static_cast<uint64_t>(options_.wait_ms) * 1'000'000u;
    uint64_t next_look_ns = begin_ns + 10'000'000;
    for (;;) {
      const auto state = target_.Get<BlobState>(places_.state);
      if (!state) return absl::NotFoundError("the process has ended meanwhile");
      result_.passed_over = state->passed_over;
      result_.wait_ms = MsSince(begin_ns);
      switch (state->progress) {
        case kBlobLoaded:
          return Loaded(*state);
        case kBlobFailed:
          return absl::InternalError(
              state->error[0] != 0 ? std::string(state->error, strnlen(state->error, sizeof(state->error)))
                                   : "the program could not make a mapping or a memory file");
        case kBlobFileMade:
          PLATEAU_RETURN_IF_ERROR(FillMemoryFile(target_, state->fd, options_.library));
          PLATEAU_RETURN_IF_ERROR(NameMemoryFile(state->fd));
          break;
        default:
          break;
      }
      const uint64_t waited_ns = NowNs() - begin_ns;
      if (waited_ns > 2 * wait_ns) return OutOfTime(kBlobLoading);
      if (waited_ns > wait_ns && state->progress == kBlobWaiting) {
        SetProgress(kBlobDisarmed);
        // A thread may have come at that very moment: then it loads, and we wait for it.
        if (target_.Get<BlobState>(places_.state).value_or(BlobState{}).loader_thread == 0)
          return OutOfTime(kBlobWaiting);
      }
      // The loader may have bound a word in a thread that was on its way, and written over ours.
      if (NowNs() > next_look_ns && state->progress == kBlobWaiting) {
        LeadAll();
        next_look_ns = NowNs() + 50'000'000;
      }
      usleep(kPollUs);
    }
  }

  absl::Status NameMemoryFile(int fd) {
    char path[sizeof(BlobConstants::path)] = {};
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!target_.Write(places_.constants + offsetof(BlobConstants, path), path, sizeof(path)))
      return absl::InternalError("cannot name the memory file");
    const uint32_t nobody = 0;
    target_.Write(places_.state + offsetof(BlobState, loader_thread), &nobody, sizeof(nobody));
    SetProgress(kBlobWaiting);
    return absl::OkStatus();
  }

  absl::Status OutOfTime(uint32_t progress) {
    if (progress == kBlobLoading)
      return absl::AbortedError("the library is being opened and that takes long; it goes on by itself");
    // A program that waits for a processor looks the same as one that has nothing to do.
    return absl::DeadlineExceededError(
        absl::StrFormat("no thread allocated within %d s, in which it had %.2f s of processor time; nothing "
                        "was changed. A program "
                        "that does not allocate has nothing to record",
                        options_.wait_ms / 1000, target_.ProcessorSeconds() - processor_seconds_));
  }

  absl::Status Loaded(const BlobState& state) {
    result_.held_ms = static_cast<double>(state.held_ns) / 1e6;
    result_.patched_ms = static_cast<double>(state.patched_ns) / 1e6;
    result_.words = state.words;
    result_.modules = state.modules;
    result_.modules_left_out = state.modules_left_out;
    result_.program_imports = state.program_imports != 0;
    switch (static_cast<AttachResult>(state.result)) {
      case AttachResult::kAttached:
        return absl::OkStatus();
      case AttachResult::kOtherVersion:
        return absl::FailedPreconditionError(
            "it has a library of another version of plateau in it, from an earlier attach; only a new start "
            "of the program helps");
      case AttachResult::kRecordsAlready:
        return absl::FailedPreconditionError(
            "it is recorded already, by an earlier attach or because its parent is");
      case AttachResult::kThreadInside:
        return absl::UnavailableError("it was detached a moment ago; try again");
      case AttachResult::kNoTrace:
        return absl::PermissionDeniedError(
            "the program cannot create its trace in the recording's directory (rights, space, or another "
            "root)");
      case AttachResult::kNotShared:
        return absl::FailedPreconditionError(
            "the file system of the recording's directory does not map files, so the recording could not be "
            "ended: "
            "choose another directory (-o DIR)");
    }
    return absl::InternalError(absl::StrCat("unexpected answer ", state.result));
  }

  // What the library did not take over goes back, by value.
  absl::Status PutBack() {
    const uint64_t begin_ns = NowNs();
    const auto holds_ours = [&](const ImportWord& word) {
      const auto now = target_.Get<uint64_t>(word.at);
      return now && range_.Contains(*now);
    };
    const uint32_t progress = Progress();
    if (progress == kBlobWaiting) SetProgress(kBlobDisarmed);
    if (std::none_of(words_.begin(), words_.end(), holds_ours)) return absl::OkStatus();
    // Without a stop the blob stays in its place and leads on, so a word that cannot be put back does no harm.
    const bool has_stopped = options_.may_stop_threads && stopped_.Stop(kStopLimitMs).ok();
    for (const ImportWord& word : words_) result_.words_put_back += PutWordBack(target_, word, range_);
    stopped_.LetGo();
    if (has_stopped) result_.second_stop_ms = MsSince(begin_ns);
    return absl::OkStatus();
  }

  TargetProcess& target_;
  const InjectionOptions& options_;
  StoppedThreads stopped_;
  TargetModules modules_;
  BlobBytes blob_ = {};
  BlobConstants constants_ = {};
  Places places_;
  AddressRange range_;
  const TargetModule* library_ = nullptr;
  std::vector<ImportWord> words_;
  Injection result_;
  double processor_seconds_ = 0;  // of the target, when the waiting began
};

}  // namespace

absl::StatusOr<Injection> Inject(TargetProcess& target, const InjectionOptions& options) {
  return Injector(target, options).Run();
}

}  // namespace plateau::cli
