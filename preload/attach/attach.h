// The entry of libplateau_attach.so, and the part of the shim that lives in attached programs only.
//
//   plateau_attach()     called by the injector's blob, on a call boundary of some thread of the program: begins a
//                        recording and leads the program's calls to the hooks
//   a tick               new modules are looked at; the trace's header is asked whether somebody wants us to go
//   detach               words put back, Python's and torch's hooks taken out, last samples, the trace is closed; the
//                        library stays, because threads may be inside a hook
//
// The program's stderr is not ours here: whoever attached gets the answer.
#ifndef PLATEAU_PRELOAD_ATTACH_ATTACH_H_
#define PLATEAU_PRELOAD_ATTACH_ATTACH_H_

#include <cstdint>

#include "preload/attach/attach_request.h"
#include "preload/recorder/parts.h"

namespace plateau {

extern const Part kAttachPart;

}  // namespace plateau

extern "C" int32_t plateau_attach(plateau::AttachRequest* request);

#endif  // PLATEAU_PRELOAD_ATTACH_ATTACH_H_
