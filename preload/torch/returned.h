// Results that a C++ function returns through an address which its caller chose: objects of classes with a destructor.
//
// The address is a hidden first argument on x86-64 and in a register of its own (x8) on AArch64, so hooks are declared with
// a class that travels in the same way. A result is handed on without being copied or looked at, which needs no more than
// its declared kind; its size does not matter.
#ifndef PLATEAU_PRELOAD_TORCH_RETURNED_H_
#define PLATEAU_PRELOAD_TORCH_RETURNED_H_

namespace plateau {

// Whatever the real function puts there. A hook that has no real function leaves it untouched.
class Returned {
 public:
  Returned() {}
  Returned(Returned&&);  // defined nowhere: the object is made in its place
  ~Returned() {}
};

// An empty std::unique_ptr.
class ReturnedNull {
 public:
  ReturnedNull() = default;
  ReturnedNull(ReturnedNull&&);  // defined nowhere
  ~ReturnedNull() {}

 private:
  [[maybe_unused]] void* pointer_ = nullptr;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_RETURNED_H_
