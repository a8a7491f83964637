// Where the stack and Python parts put their definitions: the calling thread's open block.
//
// Only from inside a capture (the hook holds the guard and has a buffer). A definition that returns true is
// committed: it survives a kill and may be published to other threads. False means that it was not written
// (no slot, the file cannot be written); the caller must then not publish the id.
// Allocates: never. A unit test of a part links its own version of these functions.
#ifndef PLATEAU_PRELOAD_RECORDER_DEFINITIONS_H_
#define PLATEAU_PRELOAD_RECORDER_DEFINITIONS_H_

#include "preload/trace/record.h"

namespace plateau {

bool DefineNode(const trace::NodeRecord& record);
bool DefinePc(const trace::PcRecord& record);
bool DefineModule(const trace::ModuleRecord& record);
bool DefineModuleGone(uint32_t module);
bool DefineCode(const trace::CodeRecord& record);
bool DefinePythonLocation(const trace::PythonLocationRecord& record);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_DEFINITIONS_H_
