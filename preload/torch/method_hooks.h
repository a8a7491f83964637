// Torch's C++ methods, hooked by defining their mangled names: optimizers, zero_grad, the autograd engine,
// train/eval, and the writer of checkpoints. Also the reporter of CPU tensors.
//
// C++ programs open no ranges around these, so the methods themselves are the marks. Engine::execute also
// runs Python's backward. Virtual calls arrive too, because vtables hold the symbols. All arguments are
// pointers or small integers and are handed on as they came, whatever their C++ types are; std::string occurs
// only behind a reference, so both string ABIs fit.
//
// Reentrancy: any thread; a method may call itself (checkpointed backward, train() of submodules).
// C++ exceptions pass: the wrappers keep nothing that would need to be undone. A method that throws leaves a
// begin without an end, which the step clock expects. Allocates: never. errno: as the real method left it.
// When the real method cannot be found a hook does nothing, which cannot happen to a caller that was linked
// with it.
#ifndef PLATEAU_PRELOAD_TORCH_METHOD_HOOKS_H_
#define PLATEAU_PRELOAD_TORCH_METHOD_HOOKS_H_

namespace plateau {

inline constexpr char kCpuReporterNew[] = "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm";
inline constexpr char kCpuReporterDelete[] = "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv";
inline constexpr char kCpuReporterOutOfMemory[] = "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm";

// Defined in libtorch_cpu; a release has most of them.
inline constexpr const char* kMethodHookSymbols[] = {
    "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim9Optimizer9zero_gradEv",  // up to 1.13
    "_ZN5torch5optim9Optimizer9zero_gradEb",  // 2.x
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_",
    "_ZN5torch2nn6Module5trainEb",
    "_ZN6caffe29serialize19PyTorchStreamWriter5setupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZN6caffe29serialize19PyTorchStreamWriter5setupERKSs",  // builds with the old string
    "_ZN6caffe29serialize19PyTorchStreamWriter14writeEndOfFileEv",
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_METHOD_HOOKS_H_
