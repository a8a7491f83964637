#include "preload/python/layout.h"

#include <cstddef>
#include <cstring>

namespace plateau::python {
namespace {

constexpr uint16_t kNo = kNoField;

// One row per minor version. The order of the fields is that of the header.
constexpr Layout kLayouts[] = {
    {.minor = 8,
     .position = Position::kByteIndex,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 24,
     .tstate_cframe = kNo,
     .cframe_frame = kNo,
     .cframe_previous = kNo,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_position = 104,
     .frame_owner = kNo,
     .frame_is_entry = kNo,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_line_table = 120,
     .code_first_traceable = kNo,
     .code_version = kNo,
     .code_bytecode = kNo,
     .text_ascii = 48,
     .text_compact = 72,
     .runtime_finalizing = 16},
    {.minor = 9,
     .position = Position::kByteIndex,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 24,
     .tstate_cframe = kNo,
     .cframe_frame = kNo,
     .cframe_previous = kNo,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_position = 104,
     .frame_owner = kNo,
     .frame_is_entry = kNo,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_line_table = 120,
     .code_first_traceable = kNo,
     .code_version = kNo,
     .code_bytecode = kNo,
     .text_ascii = 48,
     .text_compact = 72,
     .runtime_finalizing = 16},
    {.minor = 10,
     .position = Position::kCodeUnit,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 24,
     .tstate_cframe = 48,
     .cframe_frame = kNo,
     .cframe_previous = 8,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_position = 96,
     .frame_owner = kNo,
     .frame_is_entry = kNo,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_line_table = 120,
     .code_first_traceable = kNo,
     .code_version = kNo,
     .code_bytecode = kNo,
     .text_ascii = 48,
     .text_compact = 72,
     .runtime_finalizing = 16},
    {.minor = 11,
     .position = Position::kPointer,
     .root = FrameRoot::kCFrame,
     .free_threaded = false,
     .tstate_frame = 56,
     .tstate_cframe = kNo,
     .cframe_frame = 8,
     .cframe_previous = 16,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_position = 56,
     .frame_owner = 69,
     .frame_is_entry = 68,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 72,
     .code_line_table = 136,
     .code_first_traceable = 168,
     .code_version = kNo,
     .code_bytecode = 184,
     .text_ascii = 48,
     .text_compact = 72,
     .runtime_finalizing = 24},
    {.minor = 12,
     .position = Position::kPointer,
     .root = FrameRoot::kCFrame,
     .free_threaded = false,
     .tstate_frame = 56,
     .tstate_cframe = kNo,
     .cframe_frame = 0,
     .cframe_previous = 8,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_position = 56,
     .frame_owner = 70,
     .frame_is_entry = kNo,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_line_table = 136,
     .code_first_traceable = 176,
     .code_version = 92,
     .code_bytecode = 192,
     .text_ascii = 40,
     .text_compact = 56,
     .runtime_finalizing = 24},
    {.minor = 13,
     .position = Position::kPointer,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 72,
     .tstate_cframe = kNo,
     .cframe_frame = kNo,
     .cframe_previous = kNo,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_position = 56,
     .frame_owner = 70,
     .frame_is_entry = kNo,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_line_table = 136,
     .code_first_traceable = 184,
     .code_version = 92,
     .code_bytecode = 200,
     .text_ascii = 40,
     .text_compact = 56,
     .runtime_finalizing = 0},
    {.minor = 14,
     .position = Position::kPointer,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 72,
     .tstate_cframe = kNo,
     .cframe_frame = kNo,
     .cframe_previous = kNo,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_position = 56,
     .frame_owner = 74,
     .frame_is_entry = kNo,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_line_table = 136,
     .code_first_traceable = 192,
     .code_version = 92,
     .code_bytecode = 208,
     .text_ascii = 40,
     .text_compact = 56,
     .runtime_finalizing = 0},
    {.minor = 15,
     .position = Position::kPointer,
     .root = FrameRoot::kThreadState,
     .free_threaded = false,
     .tstate_frame = 72,
     .tstate_cframe = kNo,
     .cframe_frame = kNo,
     .cframe_previous = kNo,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_position = 56,
     .frame_owner = 74,
     .frame_is_entry = kNo,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_line_table = 136,
     .code_first_traceable = 192,
     .code_version = 92,
     .code_bytecode = 208,
     .text_ascii = 40,
     .text_compact = 56,
     .runtime_finalizing = 0},
};

// PyMemberDef and the fields of PyTypeObject that matter, the same in all versions.
struct Member {
  const char* name;
  int type;
  ptrdiff_t offset;
  int flags;
  const char* doc;
};
constexpr size_t kTypeName = 24;
constexpr size_t kTypeBasicSize = 32;
constexpr size_t kTypeMembers = 240;
constexpr int kMaxMembers = 64;

bool HasMemberAt(const void* type, const char* name, uint16_t offset) {
  const auto* members = ReadAt<const Member*>(type, kTypeMembers);
  if (members == nullptr) return false;
  for (int i = 0; i < kMaxMembers && members[i].name != nullptr; ++i) {
    if (strcmp(members[i].name, name) == 0) return members[i].offset == offset;
  }
  return false;
}

bool AgreesWithCodeType(const Layout& layout, const void* code_type) {
  const auto* type_name = ReadAt<const char*>(code_type, kTypeName);
  if (type_name == nullptr || strncmp(type_name, "code", 5) != 0) return false;
  if (!HasMemberAt(code_type, "co_filename", layout.code_file)) return false;
  if (!HasMemberAt(code_type, layout.minor >= 11 ? "co_qualname" : "co_name", layout.code_name)) return false;
  if (!HasMemberAt(code_type, "co_firstlineno", layout.code_first_line)) return false;
  if (!HasMemberAt(code_type, layout.minor >= 10 ? "co_linetable" : "co_lnotab", layout.code_line_table))
    return false;
  if (layout.code_bytecode == kNo && !HasMemberAt(code_type, "co_code", kCodeBytes)) return false;
  return layout.code_bytecode == kNo || ReadAt<uint64_t>(code_type, kTypeBasicSize) == layout.code_bytecode;
}

// _Py_DebugOffsets opens _PyRuntime from 3.13 on: a cookie, the version, then groups of 8-byte words. Where
// the groups start differs between minor versions; their first words do not.
struct DebugGroups {
  uint8_t minor;
  uint8_t tstate, frame, code;  // words from the beginning
};
constexpr DebugGroups kDebugGroups[] = {{13, 19, 28, 34}, {14, 22, 31, 39}, {15, 22, 39, 47}};
constexpr size_t kWordVersion = 1;
constexpr size_t kWordFreeThreaded = 2;
constexpr size_t kWordFinalizing = 4;

bool HasDebugOffsets(const void* runtime) { return memcmp(runtime, "xdebugpy", 8) == 0; }

bool AgreesWithDebugOffsets(const Layout& layout, const uint64_t* words) {
  for (const DebugGroups& groups : kDebugGroups) {
    if (groups.minor != layout.minor) continue;
    const uint64_t* tstate = words + groups.tstate;
    const uint64_t* frame = words + groups.frame;
    const uint64_t* code = words + groups.code;
    return tstate[4] == layout.tstate_frame && frame[1] == layout.frame_previous &&
           frame[2] == layout.frame_code && frame[3] == layout.frame_position &&
           frame[5] == layout.frame_owner && code[1] == layout.code_file && code[3] == layout.code_name &&
           code[4] == layout.code_line_table && code[5] == layout.code_first_line &&
           code[9] == layout.code_bytecode;
  }
  return false;
}

}  // namespace

uint16_t PythonVersion(const InterpreterSymbols& symbols) {
  if (symbols.version != nullptr) return static_cast<uint16_t>(*symbols.version >> 16);
  const char* text = symbols.get_version != nullptr ? symbols.get_version() : nullptr;
  if (text == nullptr || text[0] < '2' || text[0] > '9' || text[1] != '.') return 0;
  unsigned minor = 0;
  const char* digit = text + 2;
  for (; *digit >= '0' && *digit <= '9' && minor < 100; ++digit) minor = minor * 10 + (*digit - '0');
  if (digit == text + 2 || minor > 0xff) return 0;
  return static_cast<uint16_t>((text[0] - '0') << 8 | minor);
}

const char* FindLayout(const InterpreterSymbols& symbols, Layout* layout) {
  if (symbols.code_type == nullptr || symbols.runtime == nullptr)
    return "PyCode_Type or _PyRuntime is not exported";
  const uint16_t version = PythonVersion(symbols);
  const Layout* row = nullptr;
  for (const Layout& candidate : kLayouts) {
    if (version == (3 << 8 | candidate.minor)) row = &candidate;
  }
  if (row == nullptr) return "this version's frame layout is not known";
  *layout = *row;

  if (row->minor >= 13) {
    if (!HasDebugOffsets(symbols.runtime)) return "_PyRuntime has no debug offsets";
    const auto* words = static_cast<const uint64_t*>(symbols.runtime);
    if (words[kWordVersion] >> 16 != version) return "the debug offsets are of another version";
    if (words[kWordFreeThreaded] != 0) return "free-threaded build";
    if (!AgreesWithDebugOffsets(*row, words))
      return "the debug offsets differ from the layout of this version";
    if (words[kWordFinalizing] == 0 || words[kWordFinalizing] >= kNoField) return "no finalising word";
    layout->runtime_finalizing = static_cast<uint16_t>(words[kWordFinalizing]);
  }
  if (!AgreesWithCodeType(*row, symbols.code_type))
    return "code objects differ from the layout of this version";
  return nullptr;
}

}  // namespace plateau::python
