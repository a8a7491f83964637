// Where CPython 3.8 to 3.15 keeps what a frame walk reads, as byte offsets on 64-bit Linux.
//
// A minor version has one layout. The table is never trusted alone: FindLayout() compares it with what the
// interpreter says of itself, PyCode_Type.tp_members in every version and _Py_DebugOffsets from 3.13 on. Any
// difference (Py_TRACE_REFS, a fork of CPython, a version nobody has looked at) is a refusal with a reason,
// never a guess.
//
// Reads: only the interpreter's static data, so it may be called before Py_Initialize().
// Allocates: never. Locks: never. Calls into the interpreter: Py_GetVersion() at most.
#ifndef PLATEAU_PRELOAD_PYTHON_LAYOUT_H_
#define PLATEAU_PRELOAD_PYTHON_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plateau::python {

// How a frame tells the instruction it is at.
enum class Position : uint8_t {
  kByteIndex,  // f_lasti counts bytes (3.8, 3.9)
  kCodeUnit,   // f_lasti counts units of two bytes (3.10)
  kPointer,    // a pointer into the bytecode, which follows the code object's header (3.11 and later)
};

// How the thread state leads to the newest frame.
enum class FrameRoot : uint8_t {
  kThreadState,  // tstate -> frame
  kCFrame,       // tstate -> cframe -> frame; the CFrame lies in the native frame of the eval loop
};

inline constexpr uint16_t kNoField = 0xffff;

struct Layout {
  uint8_t minor;
  Position position;
  FrameRoot root;
  bool free_threaded;

  uint16_t tstate_frame;     // frame or cframe, as `root` says
  uint16_t tstate_cframe;    // 3.10: only for the C-stack address
  uint16_t cframe_frame;     // kCFrame
  uint16_t cframe_previous;  // 3.10 to 3.12
  uint16_t frame_previous;
  uint16_t frame_code;
  uint16_t frame_position;
  uint16_t frame_owner;     // one byte, 3.11 and later
  uint16_t frame_is_entry;  // one byte, 3.11 alone

  uint16_t code_file;
  uint16_t code_name;  // qualified from 3.11 on
  uint16_t code_first_line;
  uint16_t code_line_table;
  uint16_t code_first_traceable;  // 3.11 and later, in code units
  uint16_t code_version;          // 3.12 and later
  uint16_t code_bytecode;         // 3.11 and later: where the instructions start

  uint16_t text_ascii;    // of PyUnicode: first character when ASCII and compact
  uint16_t text_compact;  // the same, or the data pointer, for other strings

  uint16_t runtime_finalizing;  // in _PyRuntime: the thread that finalises, else null
};

// Fields common to all versions.
inline constexpr uint16_t kObjectType = 8;
inline constexpr uint16_t kObjectSize = 16;  // of var-sized objects, and the length of str
inline constexpr uint16_t kTextHash = 24;
inline constexpr uint16_t kTextState = 32;
inline constexpr uint16_t kBytesData = 32;
inline constexpr uint16_t kCodeBytes = 48;  // of a code object up to 3.10: the bytes of its instructions

// What is needed of the interpreter to find its layout; null where it has no such symbol.
struct InterpreterSymbols {
  const void* code_type;         // PyCode_Type
  const void* runtime;           // _PyRuntime
  const unsigned long* version;  // Py_Version, 3.11 and later
  const char* (*get_version)();  // Py_GetVersion
};

// Major << 8 | minor, 0 when it cannot be told.
uint16_t PythonVersion(const InterpreterSymbols& symbols);

// Null when `layout` was filled, else why Python frames stay off (a string literal).
const char* FindLayout(const InterpreterSymbols& symbols, Layout* layout);

// Plain reads at a byte offset inside an object of the interpreter.
template <typename T>
inline T ReadAt(const void* object, size_t offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
  return value;
}

inline const void* ReadPointer(const void* object, size_t offset) {
  return ReadAt<const void*>(object, offset);
}

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_LAYOUT_H_
