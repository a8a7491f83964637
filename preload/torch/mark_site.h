// The place in the program that caused a mark.
//
// Two optimizers are told apart by the lines that call them, and so are the training and the evaluation loop
// of a DataLoader; the marks of ranges and hooks therefore carry the stack of their caller as their value.
#ifndef PLATEAU_PRELOAD_TORCH_MARK_SITE_H_
#define PLATEAU_PRELOAD_TORCH_MARK_SITE_H_

#include <cstdint>

namespace plateau {

// Node id of the stack that starts at the caller of the function with frame address `frame`
// (__builtin_frame_address(0)); 0 when there is none. Defined by the recorder; a build without one has no
// such function.
__attribute__((weak)) uint32_t CaptureMarkSite(const void* frame);

inline uint32_t MarkSite(const void* frame) {
  return CaptureMarkSite != nullptr ? CaptureMarkSite(frame) : 0;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_MARK_SITE_H_
