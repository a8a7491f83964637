#include "preload/python/holders/tables/type_table.h"

#include <cstring>

namespace plateau::python::holders {
namespace {

constexpr size_t kGcHeaderBytes = 16;
constexpr size_t kManagedHeaderBytes = 16;
constexpr size_t kMaxOwnBytes = 512;
constexpr int kMaxBases = 64;

struct NamedKind {
  const char* name;
  TypeKind kind;
};

// C types by their names. A class of the program may have the same name, but then it is a heap type of which only
// its own base is the C type.
constexpr NamedKind kStaticKinds[] = {
    {"int", TypeKind::kSimple},
    {"float", TypeKind::kSimple},
    {"complex", TypeKind::kSimple},
    {"NoneType", TypeKind::kSimple},
    {"ellipsis", TypeKind::kSimple},
    {"range", TypeKind::kPlain},
    {"set", TypeKind::kSet},
    {"frozenset", TypeKind::kSet},
    {"bytearray", TypeKind::kByteArray},
    {"numpy.ndarray", TypeKind::kNumpyArray},
    {"torch._C.TensorBase", TypeKind::kTensor},
    {"torch._C._TensorBase", TypeKind::kTensor},
    {"torch._C.StorageBase", TypeKind::kStorage},
    {"torch._C._StorageBase", TypeKind::kStorage},
    {"ImagingCore", TypeKind::kImage},
    {"PIL._imaging.ImagingCore", TypeKind::kImage},
    {"_ctypes._SimpleCData", TypeKind::kCPointer},
    {"_ctypes._Pointer", TypeKind::kCPointer},
    {"_ctypes.CFuncPtr", TypeKind::kCPointer},
    {"_ctypes.PyCFuncPtr", TypeKind::kCPointer},
    {"_ctypes._CData", TypeKind::kCData},
    {"module", TypeKind::kModule},
    {"function", TypeKind::kFunction},
    {"method", TypeKind::kMethod},
    {"cell", TypeKind::kCell},
    {"frame", TypeKind::kFrame},
    {"generator", TypeKind::kGenerator},
    {"coroutine", TypeKind::kGenerator},
    {"async_generator", TypeKind::kGenerator},
    {"traceback", TypeKind::kTraceback},
};

// These are heap types in newer versions, made by C code; their names are whole, so that no class of the program
// is taken for them.
constexpr NamedKind kQualifiedKinds[] = {
    {"array.array", TypeKind::kArray},
    {"collections.deque", TypeKind::kDeque},
    {"_ctypes._SimpleCData", TypeKind::kCPointer},
    {"_ctypes._Pointer", TypeKind::kCPointer},
    {"_ctypes.CFuncPtr", TypeKind::kCPointer},
    {"_ctypes.PyCFuncPtr", TypeKind::kCPointer},
    {"_ctypes._CData", TypeKind::kCData},
    {"PIL._imaging.ImagingCore", TypeKind::kImage},
};

TypeKind KindByName(const void* type) {
  for (int i = 0; type != nullptr && i < kMaxBases; type = ReadPointer(type, kTypeBase), ++i) {
    const char* name = NameOfType(type);
    if (name == nullptr) return TypeKind::kPlain;
    const bool is_heap = (ReadAt<uint64_t>(type, kTypeFlags) & kHeapTypeFlag) != 0;
    if (is_heap && strchr(name, '.') == nullptr) continue;
    if (is_heap) {
      for (const NamedKind& row : kQualifiedKinds) {
        if (strcmp(name, row.name) == 0) return row.kind;
      }
    } else {
      for (const NamedKind& row : kStaticKinds) {
        if (strcmp(name, row.name) == 0) return row.kind;
      }
      for (const NamedKind& row : kQualifiedKinds) {
        if (strcmp(name, row.name) == 0) return row.kind;
      }
    }
  }
  return TypeKind::kPlain;
}

TypeKind KindOf(const void* type, uint64_t flags) {
  if ((flags & kLongFlag) != 0) return TypeKind::kSimple;
  if ((flags & (kTextFlag | kBytesFlag)) != 0) return TypeKind::kText;
  if ((flags & kListFlag) != 0) return TypeKind::kList;
  if ((flags & kTupleFlag) != 0) return TypeKind::kTuple;
  if ((flags & kDictFlag) != 0) return TypeKind::kDict;
  if ((flags & kTypeFlag) != 0) return TypeKind::kType;
  if ((flags & kExceptionFlag) != 0) return TypeKind::kException;
  return KindByName(type);
}

}  // namespace

bool IsDerivedFrom(const void* type, const char* name) {
  for (int i = 0; type != nullptr && i < kMaxBases; type = ReadPointer(type, kTypeBase), ++i) {
    const char* const base_name = NameOfType(type);
    if (base_name != nullptr && strcmp(base_name, name) == 0) return true;
  }
  return false;
}

const char* ShortNameOfType(const void* type) {
  const char* name = NameOfType(type);
  if (name == nullptr) return "?";
  const char* dot = strrchr(name, '.');
  return dot != nullptr ? dot + 1 : name;
}

void TypeTable::Describe(const void* type, TypeInfo* info) const {
  const uint64_t flags = ReadAt<uint64_t>(type, kTypeFlags);
  *info = {};
  info->type = type;
  info->kind = KindOf(type, flags);
  info->is_heap_type = (flags & kHeapTypeFlag) != 0;
  size_t header = 0;
  if ((flags & kHasGcFlag) != 0) {
    header = kGcHeaderBytes;
    info->traverse = ReadAt<decltype(info->traverse)>(type, kTypeTraverse);
  }
  const uint64_t managed = layout_.minor >= 12   ? kManagedDictFlag | kManagedWeakrefFlag
                           : layout_.minor == 11 ? kManagedDictFlag
                                                 : 0;
  if ((flags & managed) != 0) header += kManagedHeaderBytes;
  info->header_bytes = static_cast<uint8_t>(header);
  const uint64_t basic_size = ReadAt<uint64_t>(type, kTypeBasicSize);
  if (info->kind == TypeKind::kPlain || info->kind == TypeKind::kCData)
    info->own_bytes = static_cast<uint16_t>(basic_size < kMaxOwnBytes ? basic_size : kMaxOwnBytes);
}

}  // namespace plateau::python::holders
