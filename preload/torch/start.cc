#include "preload/torch/start.h"

#include <errno.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/base/module_walk.h"
#include "preload/base/options.h"
#include "preload/base/real_symbol.h"
#include "preload/recorder/tracer.h"
#include "preload/sampler/sample_set.h"
#include "preload/torch/method_hooks.h"
#include "preload/torch/record_function.h"
#include "preload/torch/stop_iteration.h"

namespace plateau {

namespace internal {
constinit std::atomic<bool> torch_is_on{false};
constinit std::atomic<bool> torch_is_decided{false};
constinit std::atomic<const SampleFilter*> recorded_blocks{nullptr};
}  // namespace internal

namespace {

using internal::torch_is_decided;
using internal::torch_is_on;

constinit std::atomic<uint64_t> notices{0};
constinit bool with_op_names = false;
constinit const SampleFilter* sampled_blocks = nullptr;

// Appends to a fixed buffer and cuts silently: a status line is not worth more.
class Line {
 public:
  Line(char* text, size_t capacity) : text_(text), capacity_(capacity) { text_[0] = '\0'; }

  Line& operator<<(const char* more) {
    while (*more != '\0' && length_ + 1 < capacity_) text_[length_++] = *more++;
    text_[length_] = '\0';
    return *this;
  }

  Line& operator<<(size_t number) {
    char digits[24];
    char* begin = digits + sizeof(digits) - 1;
    *begin = '\0';
    do {
      *--begin = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << begin;
  }

  size_t length() const { return length_; }

 private:
  char* text_;
  size_t capacity_;
  size_t length_ = 0;
};

const char* DescribeRanges(RangeArming arming) {
  switch (arming) {
    case RangeArming::kNotTried:
      return "ranges not armed: torch was not called";
    case RangeArming::kNoTorch:
      return "ranges not armed: libtorch_cpu is not loaded";
    case RangeArming::kNoFunction:
      return "ranges not armed: libtorch_cpu does not export at::addGlobalCallback";
    case RangeArming::kOldLayout:
      return "ranges not armed: this torch has an older RecordFunction layout";
    case RangeArming::kArmed:
      return "ranges armed: steps, zero_grad and DataLoader fetches from RecordFunction";
    case RangeArming::kDisarmed:
      return "ranges disarmed: RecordFunction has another layout than expected";
  }
  return "";
}

void TryArm() {
  const RangeArming before = RecordFunctionState();
  const RangeArming now = ArmRecordFunction(with_op_names);
  if (now == RangeArming::kNoTorch || now == RangeArming::kNotTried) return;
  torch_is_decided.store(true, std::memory_order_release);
  internal::recorded_blocks.store(sampled_blocks, std::memory_order_relaxed);
  if (now != before) RecordTorchStatus();
}

}  // namespace

bool IsLibraryLoaded(const char* base_name_prefix) {
  return WalkModules(
             [](dl_phdr_info* info, size_t, void* prefix) {
               const char* path = info->dlpi_name;
               if (path == nullptr) return 0;
               const char* slash = strrchr(path, '/');
               const char* base = slash != nullptr ? slash + 1 : path;
               const char* wanted = static_cast<const char*>(prefix);
               return strncmp(base, wanted, strlen(wanted)) == 0 ? 1 : 0;
             },
             const_cast<char*>(base_name_prefix)) != 0;
}

void internal::NoticeTorchSlowly() {
  if (!TorchIsOn()) return;
  // libc10 can be there without libtorch_cpu; then look again at the 1st, 2nd, 4th, 8th ... call.
  const uint64_t notice = notices.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((notice & (notice - 1)) != 0) return;
  const int saved_errno = errno;
  TryArm();
  // Torch is being imported: no generator runs here, so the layout of the thread's state can be proven before
  // the first fetch, which may well be inside one.
  if (!KnowsStopIteration()) (void)HandledException();
  errno = saved_errno;
}

size_t FormatTorchStatus(char* text, size_t capacity) {
  Line line(text, capacity);
  line << DescribeRanges(RecordFunctionState());
  size_t known = 0;
  size_t present = 0;
  for (const char* symbol : kMethodHookSymbols) {
    ++known;
    if (FindInLibrary("libtorch_cpu.so", symbol) != nullptr) ++present;
  }
  line << "; C++ methods: " << present << " of " << known << " hooked names exist";
  const bool has_reporter = FindInLibrary("libc10.so", kCpuReporterNew) != nullptr;
  line << (has_reporter ? "; CPU tensors: reporter found"
                        : "; CPU tensors: not tagged, libc10 has no reporter");
  if (with_op_names) line << "; operator names on";
  return line.length();
}

void RecordTorchStatus() {
  char text[512];
  const size_t length = FormatTorchStatus(text, sizeof(text));
  RecordInfo("torch", {text, length});
}

void StartTorch(TorchOptions options) {
  with_op_names = options.op_names;
  sampled_blocks = options.recorded;
  torch_is_on.store(true, std::memory_order_release);
  // In a program that runs this may be an allocation of torch's own, under its lock. The first tensor or method arms.
  if (!g_opened_late) TryArm();
}

namespace {

void Start() {
  if (!g_options.steps) return;
  const bool is_exact = g_options.mode == trace::Mode::kExact;
  StartTorch({.op_names = g_options.ops, .recorded = is_exact ? nullptr : g_sample_set.filter()});
}

// torch's callbacks survive a fork; the child's trace gets a status line of its own.
void OnForkChild() {
  if (torch_is_decided.load(std::memory_order_acquire)) RecordTorchStatus();
}

void OnDetach() {
  if (TorchIsOn() && RecordFunctionState() == RangeArming::kNotTried && IsLibraryLoaded("libtorch_cpu.so"))
    RecordTorchStatus();
  torch_is_on.store(false, std::memory_order_relaxed);
  torch_is_decided.store(false, std::memory_order_relaxed);
  internal::recorded_blocks.store(nullptr, std::memory_order_relaxed);
  notices.store(0, std::memory_order_relaxed);
  DisarmRecordFunction();
}

}  // namespace

constinit const Part kTorchPart = {.start = Start, .on_fork_child = OnForkChild, .on_detach = OnDetach};

}  // namespace plateau
