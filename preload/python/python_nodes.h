// Python frames as nodes of the stack tree.
//
//   node(parent, location)    location = (code id, byte offset)    code id by code_table.h
//
// Each thread remembers its most used frames, each under its parent and with the fingerprint of its code
// object. A frame that is met there again, with code of the same fingerprint, is that node; only the others
// are looked up in the tables that all threads share.
//
// Called inside a hook, under the guard. What is new is defined through definitions.h before its id is used.
// Allocates: never; InitializePythonNodes() maps memory. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_PYTHON_NODES_H_
#define PLATEAU_PRELOAD_PYTHON_PYTHON_NODES_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/frames.h"
#include "preload/unwind/capture.h"

namespace plateau::python {

// Maps the tables; until then threads have no Python frames. False when there is no memory. Not for two
// threads at a time.
bool InitializePythonNodes();

// The calling thread's Python frames, leaf first, in memory that belongs to the scope's slot.
struct PythonStack {
  const PythonFrame* frames = nullptr;
  size_t count = 0;
  bool truncated = false;  // the root side is missing
};
PythonStack WalkPythonStack(const WalkScope& scope);

// The node of the whole stack, hanging from the root (or from the mark of a cut stack). 0 when something
// could not be defined.
uint32_t InternPythonStack(const WalkScope& scope, const PythonStack& stack, unwind::ThreadCapture& thread,
                           const unwind::DefinitionSink& sink);

// The node of one frame under `parent`, 0 when it could not be defined.
uint32_t InternPythonFrame(const WalkScope& scope, const PythonFrame& frame, uint32_t parent,
                           unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink);

// The node under which stacks hang whose root side is missing.
uint32_t InternCutMark(unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink);

// Everything is defined anew from now on, code records too. Only while no other thread captures.
void ForgetPythonNodes();

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_PYTHON_NODES_H_
