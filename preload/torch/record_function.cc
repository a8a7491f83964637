#include "preload/torch/record_function.h"

#include <errno.h>

#include <atomic>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "preload/base/hook_frame.h"
#include "preload/base/real_symbol.h"
#include "preload/recorder/tracer.h"
#include "preload/torch/fetch_owner.h"
#include "preload/torch/returned.h"
#include "preload/torch/start.h"
#include "preload/torch/stop_iteration.h"
#include "preload/torch/user_range.h"
#include "preload/trace/fetch_mark.h"

namespace plateau {
namespace {

using trace::MarkKind;
using trace::MarkSource;

constexpr char kLibrary[] = "libtorch_cpu.so";
constexpr char kAddCallback[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
constexpr char kRemoveCallback[] = "_ZN2at14removeCallbackEm";
constexpr char kCoreLibrary[] = "libc10.so";
constexpr char kGradMode[] = "_ZN3c108GradMode10is_enabledEv";
constexpr char kRangeName[] = "_ZNK2at14RecordFunction4nameEv";
constexpr char kLayoutGuard[] = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";

// at::RecordScope, the ones we ask for.
constexpr int kFunctionScope = 0;
constexpr int kBackwardScope = 1;
constexpr int kUserScope = 7;

// at::RecordFunctionCallback, followed by zeros in case a release adds a field at its end.
struct Callback {
  ReturnedNull (*start)(const void* range);  // an empty std::unique_ptr<ObserverContext>
  void (*end)(const void* range, void* context);
  double sampling_probability;
  unsigned char scopes[10];
  unsigned char needs_inputs_outputs_ids[3];
  unsigned char zeros[43];
};
static_assert(sizeof(Callback) == 80);
static_assert(std::is_trivially_copyable_v<Callback>);

constinit std::atomic<RangeArming> arming{RangeArming::kNotTried};
constinit std::atomic<bool> is_arming{false};
constinit std::atomic<bool> is_unwanted{false};  // what is registered
constexpr size_t kMaxCallbacks = 3;
constinit uint64_t callbacks[kMaxCallbacks] = {};
constinit size_t callback_count = 0;
using RangeNameFunction = const char*(const void*);
constinit RangeNameFunction* range_name = nullptr;
using GradModeFunction = bool();
constinit GradModeFunction* are_gradients_on = nullptr;
constinit std::atomic<bool> is_backward_hooked{false};
// Used without the Engine::execute hook: a backward pass was reported, and nothing else happened since.
constinit std::atomic<bool> in_backward{false};

thread_local constinit const void* handled_before_fetch = nullptr;

bool IsArmed() { return arming.load(std::memory_order_relaxed) == RangeArming::kArmed; }

// torch.no_grad() or inference_mode() is in force on this thread; false when it cannot be told.
bool AreGradientsOff() { return are_gradients_on != nullptr && !are_gradients_on(); }

// Empty when the range has no readable name; the callbacks are disarmed then.
std::string_view NameOf(const void* range) {
  const char* name = range_name(range);
  if (reinterpret_cast<uintptr_t>(name) >= 4096) return name;
  RangeArming armed = RangeArming::kArmed;
  if (arming.compare_exchange_strong(armed, RangeArming::kDisarmed)) RecordTorchStatus();
  return {};
}

void EndBackward() {
  if (in_backward.load(std::memory_order_relaxed) && in_backward.exchange(false)) {
    RecordMark(MarkKind::kBackwardEnd, MarkSource::kRecordFunction, 0, {});
  }
}

void BeginRange(const void* range, const void* frame) {
  const UserRange user_range = ParseUserRange(NameOf(range));
  if (user_range.kind == RangeKind::kOther) return;
  EndBackward();
  const uint64_t site = CaptureMarkSite(frame);
  switch (user_range.kind) {
    case RangeKind::kOptimizerStep:
      RecordMark(MarkKind::kOptimizerBegin, MarkSource::kRecordFunction, site, user_range.detail);
      break;
    case RangeKind::kZeroGrad:
      RecordMark(MarkKind::kZeroGrad, MarkSource::kRecordFunction, site, user_range.detail);
      break;
    case RangeKind::kFetch:
      handled_before_fetch = HandledException();
      RecordMark(MarkKind::kFetchBegin, MarkSource::kRecordFunction, site, user_range.detail);
      break;
    case RangeKind::kOther:
      break;
  }
}

void EndRange(const void* range, const void* frame) {
  const UserRange user_range = ParseUserRange(NameOf(range));
  if (user_range.kind == RangeKind::kOptimizerStep) {
    RecordMark(MarkKind::kStep, MarkSource::kRecordFunction, CaptureMarkSite(frame), user_range.detail);
  } else if (user_range.kind == RangeKind::kFetch) {
    const bool is_stop = EndedByStopIteration(handled_before_fetch);
    // A fetch that brought a batch says whether a stop would have been seen.
    const bool is_known = is_stop || KnowsStopIteration();
    const void* owner = is_known ? FetchOwner(user_range.detail) : nullptr;
    const trace::FetchMark mark = {is_known, AreGradientsOff(),
                                   trace::IteratorOfAddress(reinterpret_cast<uintptr_t>(owner))};
    RecordMark(is_stop ? MarkKind::kFetchStop : MarkKind::kFetchEnd, MarkSource::kRecordFunction,
               trace::EncodeFetchMark(mark), user_range.detail);
  }
}

void RemoveUnwanted();

ReturnedNull OnUserStart(const void* range) {
  const int saved_errno = errno;
  if (IsArmed()) {
    BeginRange(range, plateau::HookFrame());
  } else {
    RemoveUnwanted();
  }
  errno = saved_errno;
  return {};
}

void OnUserEnd(const void* range, void*) {
  const int saved_errno = errno;
  if (IsArmed()) EndRange(range, plateau::HookFrame());
  errno = saved_errno;
}

ReturnedNull OnBackwardStart(const void*) {
  if (!IsArmed()) [[unlikely]] {
    const int saved_errno = errno;
    RemoveUnwanted();
    errno = saved_errno;
    return {};
  }
  if (is_backward_hooked.load(std::memory_order_relaxed) || in_backward.load(std::memory_order_relaxed))
    return {};
  const int saved_errno = errno;
  if (!in_backward.exchange(true)) {
    RecordMark(MarkKind::kBackwardBegin, MarkSource::kRecordFunction, 0, {});
  }
  errno = saved_errno;
  return {};
}

ReturnedNull OnFunctionStart(const void* range) {
  const int saved_errno = errno;
  if (IsArmed()) RecordMark(MarkKind::kOp, MarkSource::kRecordFunction, 1, NameOf(range));
  errno = saved_errno;
  return {};
}

void OnFunctionEnd(const void*, void*) {
  const int saved_errno = errno;
  if (IsArmed()) RecordMark(MarkKind::kOp, MarkSource::kRecordFunction, 0, {});
  errno = saved_errno;
}

void OnNothing(const void*, void*) {}

// In a callback, where torch holds no lock.
void RemoveUnwanted() {
  if (!is_unwanted.load(std::memory_order_relaxed)) return;
  if (is_arming.exchange(true, std::memory_order_acquire)) return;
  if (is_unwanted.exchange(false)) {
    using Remove = void(uint64_t);
    auto* remove = reinterpret_cast<Remove*>(FindInLibrary(kLibrary, kRemoveCallback));
    HookGuard guard;  // torch's list of callbacks is not the program's memory
    while (remove != nullptr && callback_count > 0) remove(callbacks[--callback_count]);
  }
  is_arming.store(false, std::memory_order_release);
}

RangeArming Register(bool op_names) {
  if (!IsLibraryLoaded(kLibrary)) return RangeArming::kNoTorch;
  auto* add = reinterpret_cast<uint64_t (*)(Callback)>(FindInLibrary(kLibrary, kAddCallback));
  range_name = reinterpret_cast<RangeNameFunction*>(FindInLibrary(kLibrary, kRangeName));
  if (add == nullptr || range_name == nullptr) return RangeArming::kNoFunction;
  if (FindInLibrary(kLibrary, kLayoutGuard) == nullptr) return RangeArming::kOldLayout;
  are_gradients_on = reinterpret_cast<GradModeFunction*>(FindInLibrary(kCoreLibrary, kGradMode));

  is_unwanted.store(false);
  if (callback_count > 0) return RangeArming::kArmed;  // still there from a recording before
  HookGuard guard;  // torch's list of callbacks is not the program's memory
  Callback callback{};
  callback.sampling_probability = 1.0;
  const auto add_scope = [&](int scope, auto* start, auto* end) {
    memset(callback.scopes, 0, sizeof(callback.scopes));
    callback.scopes[scope] = 1;
    callback.start = start;
    callback.end = end;
    callbacks[callback_count++] = add(callback);
  };
  add_scope(kUserScope, &OnUserStart, &OnUserEnd);
  add_scope(kBackwardScope, &OnBackwardStart, &OnNothing);
  if (op_names) add_scope(kFunctionScope, &OnFunctionStart, &OnFunctionEnd);
  return RangeArming::kArmed;
}

}  // namespace

RangeArming ArmRecordFunction(bool op_names) {
  RangeArming now = arming.load(std::memory_order_acquire);
  if (now != RangeArming::kNotTried && now != RangeArming::kNoTorch) return now;
  if (is_arming.exchange(true, std::memory_order_acquire)) return now;
  now = arming.load(std::memory_order_acquire);
  if (now == RangeArming::kNotTried || now == RangeArming::kNoTorch) {
    now = Register(op_names);
    arming.store(now, std::memory_order_release);
  }
  is_arming.store(false, std::memory_order_release);
  return now;
}

void DisarmRecordFunction() {
  RangeArming armed = RangeArming::kArmed;
  if (arming.compare_exchange_strong(armed, RangeArming::kNotTried)) is_unwanted.store(true);
}

RangeArming RecordFunctionState() { return arming.load(std::memory_order_acquire); }

void BackwardIsHooked() {
  if (!is_backward_hooked.load(std::memory_order_relaxed))
    is_backward_hooked.store(true, std::memory_order_relaxed);
}

}  // namespace plateau
