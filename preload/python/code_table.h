// Numbers for code objects, and their records.
//
// Addresses of code objects are used again all the time (exec, namedtuple, dataclass, fx), so an address
// alone says nothing. A look-up compares a fingerprint on every hit:
//
//   address -> {file, name, name hash, first line, co_version,
//               line table: pointer, size, first and last 8 bytes}
//
// and on a difference goes by content, a 63-bit hash of all that a CodeRecord holds. Equal content has one
// id, so code that is compiled again and again is recorded once. Both tables have a fixed size; an entry that
// was pushed out costs a second record of the same content, which the reader merges.
//
// Allocates: never, but InitializeCodeTable() maps memory. Locks: a writer's lock is tried, not waited for;
// when it is busy the id is given without being remembered. Any number of threads.
#ifndef PLATEAU_PRELOAD_PYTHON_CODE_TABLE_H_
#define PLATEAU_PRELOAD_PYTHON_CODE_TABLE_H_

#include <cstdint>

#include "preload/python/fingerprint.h"
#include "preload/python/walk_scope.h"
#include "preload/trace/record.h"

namespace plateau::python {

// Writes a record into the calling thread's stream; false when it could not. The views end with the call.
using EmitCode = bool (*)(void* context, const trace::CodeRecord& record);

// Maps the tables; until then CodeId() returns 0. False when there is no memory. Not for two threads at a
// time.
bool InitializeCodeTable();

// The id of a live code object, counted from 1. Its record is emitted first when this content was not seen
// before. 0 means that there is no room, or that the record could not be written.
uint32_t CodeId(const WalkScope& scope, const void* code, EmitCode emit, void* context);
uint32_t CodeId(const WalkScope& scope, const void* code, const CodeFingerprint& fingerprint, EmitCode emit,
                void* context);

struct CodeTableCounters {
  uint64_t records;         // ids given
  uint64_t address_reuses;  // another code object at a known address
};
CodeTableCounters CodeTableStatistics();

// Everything is defined anew from now on: in the child of a fork, which writes its own trace, and when
// records were lost. Only while no other thread looks codes up.
void ForgetCodeRecords();

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_CODE_TABLE_H_
