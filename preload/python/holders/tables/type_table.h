// What a walk needs to know of the type of an object, worked out once for each type.
//
// Types are told by their flags, and C types by their name: no symbol of the interpreter's data is needed, which
// may exist twice. One thread. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TYPE_TABLE_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TYPE_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/heap_layout.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

// What an object keeps outside of itself, or how its references are named.
enum class TypeKind : uint8_t {
  kPlain,   // nothing that we know
  kSimple,  // a number, None: nothing at all
  kText,    // str, bytes: its own block alone
  kList,
  kTuple,
  kDict,
  kSet,
  kByteArray,
  kArray,  // array.array
  kNumpyArray,
  kTensor,    // torch.Tensor
  kStorage,   // torch's storages
  kImage,     // PIL
  kCData,     // ctypes: memory of its own only where it says so
  kCPointer,  // ctypes: an address that keeps nothing alive
  kType,
  kModule,
  kFunction,
  kMethod,
  kCell,
  kFrame,  // frame object
  kGenerator,
  kTraceback,
  kException,
  kDeque,
};

struct TypeInfo {
  const void* type;
  int (*traverse)(const void* object, int (*visit)(void*, void*), void* context);
  TypeKind kind;
  bool is_heap_type;
  bool is_deferred;      // met as the type of an object, and not walked yet
  uint8_t header_bytes;  // what lies in the block in front of the object
  uint16_t own_bytes;    // of the object that may hold addresses we are told nothing of
};

class TypeTable {
 public:
  TypeTable(const HeapLayout& layout, WalkMemory* memory) : layout_(layout), memory_(*memory) {}
  bool Initialize() {
    entries_ = memory_.TakeArray<TypeInfo>(kEntries);
    return entries_ != nullptr;
  }

  // The reference is good until the next call.
  [[gnu::always_inline]] TypeInfo& Get(const void* type) {
    TypeInfo& entry =
        entries_[reinterpret_cast<uintptr_t>(type) * 0x9e3779b97f4a7c15u >> (64 - kLog2Entries)];
    if (entry.type == type) [[likely]]
      return entry;
    Describe(type, &entry);
    return entry;
  }
  TypeInfo& Of(const void* object) { return Get(ReadPointer(object, kObjectType)); }

 private:
  static constexpr unsigned kLog2Entries = 12;
  static constexpr size_t kEntries = size_t{1} << kLog2Entries;

  void Describe(const void* type, TypeInfo* info) const;

  const HeapLayout& layout_;
  WalkMemory& memory_;
  TypeInfo* entries_ = nullptr;
};

// Whether the type, or one that it is derived from, is the C type of this name.
bool IsDerivedFrom(const void* type, const char* name);

// The last part of a type's name.
const char* ShortNameOfType(const void* type);

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TYPE_TABLE_H_
