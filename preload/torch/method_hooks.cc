#include "preload/torch/method_hooks.h"

#include <errno.h>

#include <cstdint>
#include <string_view>

#include "preload/base/hook_frame.h"
#include "preload/base/real_symbol.h"
#include "preload/recorder/tracer.h"
#include "preload/torch/record_function.h"
#include "preload/torch/returned.h"
#include "preload/torch/start.h"

namespace plateau {
namespace {

using trace::MarkKind;
using trace::MarkSource;

void Mark(MarkKind kind, const void* frame, std::string_view name) {
  if (!TorchIsOn()) return;
  const int saved_errno = errno;
  NoticeTorch();
  RecordMark(kind, MarkSource::kCppHook, frame != nullptr ? CaptureMarkSite(frame) : 0, name);
  errno = saved_errno;
}

// train() calls itself for every submodule: only the outermost call is a mark. The stack grows down, so a
// call that is not below the remembered one means that the remembered one is over, even if an exception ended
// it.
thread_local constinit const void* outermost_train = nullptr;

void MarkTrainMode(bool is_train, const void* frame) {
  if (!TorchIsOn()) return;
  const int saved_errno = errno;
  NoticeTorch();
  RecordMark(MarkKind::kTrainMode, MarkSource::kCppHook, is_train ? 1 : 0, {});
  errno = saved_errno;
  outermost_train = frame;
}

}  // namespace
}  // namespace plateau

using plateau::Mark;
using plateau::RealSymbol;
using plateau::Returned;
using plateau::trace::MarkKind;

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"  // C names of C++ functions
#endif
#define PLATEAU_HOOK extern "C" __attribute__((visibility("default"), noinline))

// The real function of this name for this caller.
#define PLATEAU_REAL(symbol, type)               \
  ({                                             \
    static constinit RealSymbol real(#symbol);   \
    real.Get<type>(__builtin_return_address(0)); \
  })

// Tensor Optimizer::step(std::function<Tensor()>): the result and the closure are passed by address.
#define PLATEAU_OPTIMIZER_HOOK(symbol, class_name)                                    \
  PLATEAU_HOOK Returned symbol(void* self, void* closure) {                           \
    Mark(MarkKind::kOptimizerBegin, plateau::HookFrame(), class_name);                \
    auto* real_step = PLATEAU_REAL(symbol, Returned(void*, void*));                   \
    Returned returned = real_step != nullptr ? real_step(self, closure) : Returned(); \
    Mark(MarkKind::kStep, plateau::HookFrame(), class_name);                          \
    return returned;                                                                  \
  }

PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE, "SGD")
PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE, "Adam")
PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE, "AdamW")
PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE, "LBFGS")
PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE, "Adagrad")
PLATEAU_OPTIMIZER_HOOK(_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE, "RMSprop")

PLATEAU_HOOK void _ZN5torch5optim9Optimizer9zero_gradEv(void* self) {
  Mark(MarkKind::kZeroGrad, plateau::HookFrame(), {});
  if (auto* real_zero = PLATEAU_REAL(_ZN5torch5optim9Optimizer9zero_gradEv, void(void*))) real_zero(self);
}

PLATEAU_HOOK void _ZN5torch5optim9Optimizer9zero_gradEb(void* self, uint64_t set_to_none) {
  Mark(MarkKind::kZeroGrad, plateau::HookFrame(), {});
  if (auto* real_zero = PLATEAU_REAL(_ZN5torch5optim9Optimizer9zero_gradEb, void(void*, uint64_t))) {
    real_zero(self, set_to_none);
  }
}

// The three bools travel in whole registers (on x86-64 the last two arguments on the stack); they are handed on unread.
#define PLATEAU_DEFINE_ENGINE_EXECUTE(symbol)                                                     \
  PLATEAU_HOOK Returned symbol(void* self, void* roots, void* inputs, uint64_t keep_graph,        \
                               uint64_t create_graph, uint64_t accumulate, void* outputs) {       \
    plateau::BackwardIsHooked();                                                                  \
    Mark(MarkKind::kBackwardBegin, plateau::HookFrame(), {});                                     \
    auto* real_execute =                                                                          \
        PLATEAU_REAL(symbol, Returned(void*, void*, void*, uint64_t, uint64_t, uint64_t, void*)); \
    Returned returned = real_execute != nullptr ? real_execute(self, roots, inputs, keep_graph,   \
                                                               create_graph, accumulate, outputs) \
                                                : Returned();                                     \
    Mark(MarkKind::kBackwardEnd, nullptr, {});                                                    \
    return returned;                                                                              \
  }
PLATEAU_DEFINE_ENGINE_EXECUTE(
    _ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_)

PLATEAU_HOOK void _ZN5torch2nn6Module5trainEb(void* self, uint64_t is_train) {
  const void* frame = plateau::HookFrame();
  const void* outer = plateau::outermost_train;
  const bool is_outermost = outer == nullptr || frame >= outer;
  if (is_outermost) plateau::MarkTrainMode((is_train & 0xff) != 0, frame);
  if (auto* real_train = PLATEAU_REAL(_ZN5torch2nn6Module5trainEb, void(void*, uint64_t)))
    real_train(self, is_train);
  if (is_outermost) plateau::outermost_train = nullptr;
}

// A checkpoint is being written from the set-up of the archive to its end.
PLATEAU_HOOK void
_ZN6caffe29serialize19PyTorchStreamWriter5setupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    void* self, const void* name) {
  Mark(MarkKind::kPhaseBegin, plateau::HookFrame(), "checkpoint");
  if (auto* real_setup = PLATEAU_REAL(
          _ZN6caffe29serialize19PyTorchStreamWriter5setupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE,
          void(void*, const void*))) {
    real_setup(self, name);
  }
}

PLATEAU_HOOK void _ZN6caffe29serialize19PyTorchStreamWriter5setupERKSs(void* self, const void* name) {
  Mark(MarkKind::kPhaseBegin, plateau::HookFrame(), "checkpoint");
  if (auto* real_setup =
          PLATEAU_REAL(_ZN6caffe29serialize19PyTorchStreamWriter5setupERKSs, void(void*, const void*))) {
    real_setup(self, name);
  }
}

PLATEAU_HOOK void _ZN6caffe29serialize19PyTorchStreamWriter14writeEndOfFileEv(void* self) {
  if (auto* real_end =
          PLATEAU_REAL(_ZN6caffe29serialize19PyTorchStreamWriter14writeEndOfFileEv, void(void*))) {
    real_end(self);
  }
  Mark(MarkKind::kPhaseEnd, nullptr, "checkpoint");
}

// c10::ProfiledCPUMemoryReporter: called for every CPU storage, profiler or not, so a small operator pays for
// both. For a storage that sampling left out each is a dozen instructions and a jump to the real one.
namespace {

using ReporterNew = void(void* self, void* storage, size_t bytes);
using ReporterDelete = void(void* self, void* storage);
constinit RealSymbol g_real_new("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
constinit RealSymbol g_real_delete("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");

[[gnu::noinline]] void ReportNew(void* self, void* storage, size_t bytes, const void* return_address) {
  if (plateau::TorchIsOn()) {
    plateau::NoticeTorch();
    if (storage != nullptr && bytes != 0) plateau::TagTensor(storage, bytes);
  }
  if (auto* real = g_real_new.Get<ReporterNew>(return_address)) real(self, storage, bytes);
}

[[gnu::noinline]] void ReportDelete(void* self, void* storage, const void* return_address) {
  if (plateau::TorchIsOn() && storage != nullptr) plateau::UntagTensor(storage);
  if (auto* real = g_real_delete.Get<ReporterDelete>(return_address)) real(self, storage);
}

}  // namespace

PLATEAU_HOOK void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void* self, void* storage, size_t bytes) {
  if (plateau::IsLeftOut(storage)) [[likely]] {
    if (auto* real = g_real_new.Known<ReporterNew>()) [[likely]]
      return real(self, storage, bytes);
  }
  ReportNew(self, storage, bytes, __builtin_return_address(0));
}

PLATEAU_HOOK void _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(void* self, void* storage) {
  if (plateau::IsLeftOut(storage)) [[likely]] {
    if (auto* real = g_real_delete.Known<ReporterDelete>()) [[likely]]
      return real(self, storage);
  }
  ReportDelete(self, storage, __builtin_return_address(0));
}

PLATEAU_HOOK void _ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm(void* self, size_t bytes) {
  if (plateau::TorchIsOn()) {
    const int saved_errno = errno;
    plateau::RecordMark(MarkKind::kNote, plateau::trace::MarkSource::kCppHook, bytes,
                        "out of memory: CPU tensor");
    errno = saved_errno;
  }
  if (auto* real_report =
          PLATEAU_REAL(_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm, void(void*, size_t))) {
    real_report(self, bytes);
  }
}
