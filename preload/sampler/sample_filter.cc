#include "preload/sampler/sample_filter.h"

#include "preload/base/system_call.h"

namespace plateau {

void SampleFilter::Clear() {
  static_assert(sizeof(SampleFilter) % 4096 == 0 && alignof(SampleFilter) == 4096);
  // Zero again, without touching each page.
  sys::Call(SYS_madvise, sys::Arg(this), sizeof(*this), MADV_DONTNEED);
}

}  // namespace plateau
