// What libplateau.so is made of besides the recorder. A new part is one more row.
#include "preload/recorder/parts.h"

#include "preload/hooks/other_allocators.h"
#include "preload/python/holders/schedule.h"
#include "preload/python/start.h"
#include "preload/torch/start.h"

namespace plateau {

constinit const Part* const kParts[] = {&kAllocatorsPart, &kPythonPart, &kTorchPart, &kHoldersPart};
constinit const size_t kPartCount = sizeof(kParts) / sizeof(kParts[0]);

}  // namespace plateau
