// What the shim calls of the Python part, in the order of a process's life.
//
// Allocates: never. Every function returns at once when there is no interpreter.
#ifndef PLATEAU_PRELOAD_PYTHON_START_H_
#define PLATEAU_PRELOAD_PYTHON_START_H_

namespace plateau {

// From the shim's constructor, after the trace is open: finds an interpreter, installs the pymalloc hooks and
// records the status line RecordInfo("python", ...).
void StartPython();

// Once a second, guard held, no lock held: finds an interpreter that was loaded later, and checks that the
// pymalloc hooks are still there.
void TickPython();

// In the child of a fork, before it records anything.
void PythonOnForkChild();

// When a thread ends.
void PythonOnThreadEnd();

// When the process ends: records the status line again if there is something to add.
void PythonAtEnd();

// Before and after a dlclose().
void PythonBeforeDlclose();
void PythonAfterDlclose();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_PYTHON_START_H_
