// What libplateau_attach.so is made of besides the recorder. The last part may end the recording on its tick.
#include "preload/attach/attach.h"
#include "preload/hooks/other_allocators.h"
#include "preload/python/holders/schedule.h"
#include "preload/python/start.h"
#include "preload/recorder/parts.h"
#include "preload/torch/start.h"

namespace plateau {

constinit const Part* const kParts[] = {&kAllocatorsPart, &kPythonPart, &kTorchPart, &kHoldersPart,
                                        &kAttachPart};
constinit const size_t kPartCount = sizeof(kParts) / sizeof(kParts[0]);

}  // namespace plateau
