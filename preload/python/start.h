// The Python part: frames in the stacks of events, and pymalloc's small objects.
//
// start finds an interpreter, installs the pymalloc hooks and records the status line RecordInfo("python",
// ...); on_tick finds an interpreter that was loaded later and checks that the hooks are still there. Around
// a dlclose() the walks pause while the interpreter may be going away. Every callback returns at once when
// there is no interpreter. With PLATEAU_PYTHON=0 no interpreter is looked for. Allocates: never.
#ifndef PLATEAU_PRELOAD_PYTHON_START_H_
#define PLATEAU_PRELOAD_PYTHON_START_H_

#include "preload/recorder/parts.h"

namespace plateau {

extern const Part kPythonPart;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_PYTHON_START_H_
