// Where CPython 3.8 to 3.14 keeps what a walk over its objects reads, beyond preload/python/layout.h.
//
// A version without a row is refused by name. Functions and sizes come from the interpreter itself wherever it
// exports them; tp_traverse does the rest. Reads only. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_HEAP_LAYOUT_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_HEAP_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/layout.h"

namespace plateau::python::holders {

struct HeapLayout {
  uint8_t minor;
  uint16_t function_code;
  uint16_t function_defaults;
  uint16_t function_keyword_defaults;
  uint16_t function_closure;
  uint16_t exception_traceback;  // then context, cause
  uint16_t thread_dict;
  uint16_t thread_context;
  uint16_t frame_locals;     // first local: of a frame object up to 3.10, of an interpreter frame after
  uint16_t generator_frame;  // 3.11 and later: the frame inside the generator; before: pointer to it
  uint16_t cached_keys;      // of a heap type: names of its instances' attributes, 3.11 and later
  uint16_t tuple_items;      // from 3.14 on a tuple has its hash in front of them
};

// The fields of objects, the same in all these versions.
inline constexpr size_t kTypeName = 24;
inline constexpr size_t kTypeBasicSize = 32;
inline constexpr size_t kTypeFlags = 168;
inline constexpr size_t kTypeTraverse = 184;
inline constexpr size_t kTypeMembers = 240;
inline constexpr size_t kTypeBase = 256;
inline constexpr size_t kTypeDict = 264;
inline constexpr size_t kTypeBases = 336;
inline constexpr size_t kTypeMro = 344;
inline constexpr size_t kTypeDictOffset = 288;

inline constexpr uint64_t kInlineValuesFlag = 1u << 2;    // 3.13
inline constexpr uint64_t kManagedWeakrefFlag = 1u << 3;  // 3.12 and later
inline constexpr uint64_t kManagedDictFlag = 1u << 4;     // 3.11 and later
inline constexpr uint64_t kHeapTypeFlag = 1u << 9;
inline constexpr uint64_t kHasGcFlag = 1u << 14;
inline constexpr uint64_t kLongFlag = 1u << 24;
inline constexpr uint64_t kListFlag = 1u << 25;
inline constexpr uint64_t kTupleFlag = 1u << 26;
inline constexpr uint64_t kBytesFlag = 1u << 27;
inline constexpr uint64_t kTextFlag = 1u << 28;
inline constexpr uint64_t kDictFlag = 1u << 29;
inline constexpr uint64_t kExceptionFlag = 1u << 30;
inline constexpr uint64_t kTypeFlag = 1u << 31;

inline constexpr size_t kListItems = 24;
inline constexpr size_t kDictUsed = 16;
inline constexpr size_t kDictKeys = 32;
inline constexpr size_t kSetUsed = 24;
inline constexpr size_t kSetMask = 32;
inline constexpr size_t kSetTable = 40;
inline constexpr size_t kByteArrayStart = 32;
inline constexpr size_t kArrayItems = 24;
inline constexpr size_t kModuleDict = 16;
inline constexpr size_t kCellContent = 16;
inline constexpr size_t kMethodFunction = 16;
inline constexpr size_t kMethodSelf = 24;
inline constexpr size_t kDequeMaxLength = 64;
inline constexpr size_t kTracebackFrame = 24;    // tb_next is at 16
inline constexpr size_t kFrameObjectFrame = 24;  // 3.11 and later
inline constexpr size_t kFrameStackTop =
    64;  // 3.11 to 3.13: entries of the locals and the stack, or -1; 3.14: their end, or null
inline constexpr size_t kCodeLocalNames = 96;  // 3.11 and later
inline constexpr size_t kCodeLocalKinds = 104;
inline constexpr size_t kCodeVarNames = 72;  // up to 3.10; then free variables and cell variables
inline constexpr size_t kCodeFreeNames = 80;
inline constexpr size_t kCodeCellNames = 88;
inline constexpr size_t kCodeArgumentCount = 16;  // up to 3.10
inline constexpr size_t kThreadInterpreter = 16;
inline constexpr size_t kThreadNext = 8;

// The functions of the interpreter that a walk calls. None of them runs code of the program or makes an object.
struct HeapFunctions {
  int (*dict_next)(void* dict, ptrdiff_t* position, void** key, void** value);  // PyDict_Next
  void* (*module_dict)();                                                       // PyImport_GetModuleDict
  int (*line_of)(void* code, int offset);                                       // PyCode_Addr2Line
  int (*add_pending_call)(int (*function)(void*), void* argument);              // Py_AddPendingCall
  void* (*main_interpreter)();                                                  // PyInterpreterState_Main
  void* (*first_thread)(void* interpreter);  // PyInterpreterState_ThreadHead
  void* (*unchecked_state)();  // the thread that holds the interpreter's lock, in every build that has one
  int (*is_initialized)();     // Py_IsInitialized
  const void* runtime;         // _PyRuntime
};

// Null when both were filled, else why not (a string literal). Reads symbol tables, some 50 us; the answer stays
// right while the interpreter is loaded.
const char* FindHeapLayout(HeapLayout* layout, HeapFunctions* functions);

// The collector of an interpreter: where its lists begin. Found by what the structure looks like.
struct CollectorState {
  const void* generations[4];  // heads of the young, middle, old and frozen objects
  const int* enabled;
  const int* collecting;
};
bool FindCollector(const HeapLayout& layout, const HeapFunctions& functions, CollectorState* state);

// A place of a frame from 3.14 on: low bits say who counts the reference, or that it is no object but a number. In earlier
// versions they are 0.
inline const void* StackReference(const void* frame, size_t offset) {
  constexpr uintptr_t kTag = 3;
  const auto word = ReadAt<uintptr_t>(frame, offset);
  return (word & kTag) == kTag ? nullptr : reinterpret_cast<const void*>(word & ~kTag);
}

// The next of a collector's list. 3.14 has a flag in the low bit.
inline const void* NextInList(const void* header) {
  return reinterpret_cast<const void*>(ReadAt<uintptr_t>(header, 0) & ~uintptr_t{3});
}

// How many references to an object there are. From 3.14 on the upper half of the word has other things.
inline int64_t ReferencesOf(const HeapLayout& layout, const void* object) {
  return layout.minor >= 14 ? int64_t{ReadAt<uint32_t>(object, 0)} : ReadAt<int64_t>(object, 0);
}

inline const char* NameOfType(const void* type) { return ReadAt<const char*>(type, kTypeName); }

// Items of a tuple, list or other object of variable size.
inline int64_t SizeOf(const void* object) { return ReadAt<int64_t>(object, kObjectSize); }
inline const void* TupleItem(const HeapLayout& layout, const void* tuple, int64_t index) {
  return ReadPointer(tuple, layout.tuple_items + 8 * static_cast<size_t>(index));
}

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_HEAP_LAYOUT_H_
