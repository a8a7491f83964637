// Names that an object gives to what it has: attributes, slots, members of C types, and the parts of some types of the library.
#include <cstring>

#include "preload/python/holders/path_namer.h"

namespace plateau::python::holders {
namespace {

using trace::SegmentKind;

constexpr size_t kLruCacheDict = 72;
constexpr size_t kLruCacheFunction = 88;
constexpr size_t kLruCacheMaxSize = 96;

bool IsOfType(const void* object, const char* name) {
  return strcmp(ShortNameOfType(ReadPointer(object, kObjectType)), name) == 0;
}

bool IsLruCache(const void* object) { return IsOfType(object, "_lru_cache_wrapper"); }

// A Context of contextvars and what it is made of.
bool IsContextPart(const char* type_name) {
  return strcmp(type_name, "Context") == 0 || strncmp(type_name, "hamt", 4) == 0;
}

void MeasureLruCache(const void* cache, uint64_t* length, uint64_t* bound, const char** type_name) {
  *type_name = "lru_cache";
  *length = ReadAt<uint64_t>(ReadPointer(cache, kLruCacheDict), kDictUsed);
  const auto most = ReadAt<int64_t>(cache, kLruCacheMaxSize);
  if (most > 0) *bound = static_cast<uint64_t>(most);
}

}  // namespace

bool PathNamer::IsDictOf(const void* object, const void* dict) {
  const void* const type = ReadPointer(object, kObjectType);
  const auto flags = ReadAt<uint64_t>(type, kTypeFlags);
  if (layout_.minor >= 11 && (flags & kManagedDictFlag) != 0)
    return ReadAt<const void*>(static_cast<const char*>(object) - 24, 0) == dict;
  const auto offset = ReadAt<int64_t>(type, kTypeDictOffset);
  if (offset > 0) return ReadPointer(object, static_cast<size_t>(offset)) == dict;
  // Behind the items of an object of variable size: no reference of another name lies there.
  return offset < 0;
}

bool PathNamer::IsNamespace(const void* before, const void* object) {
  if (before == nullptr || KindOf(object) != TypeKind::kDict) return false;
  switch (KindOf(before)) {
    case TypeKind::kModule:
      return ReadPointer(before, kModuleDict) == object;
    case TypeKind::kType:
      return ReadPointer(before, kTypeDict) == object || IsDictOf(before, object);
    case TypeKind::kSimple:
    case TypeKind::kText:
    case TypeKind::kCell:
    case TypeKind::kFrame:
    case TypeKind::kGenerator:
      return false;
    default:
      return IsDictOf(before, object);
  }
}

bool PathNamer::Measure(const void* before, const void* object, uint64_t* length, uint64_t* bound,
                        const char** type_name) {
  *bound = 0;
  *type_name = ShortNameOfType(ReadPointer(object, kObjectType));
  switch (KindOf(object)) {
    case TypeKind::kList:
    case TypeKind::kTuple:
      *length = static_cast<uint64_t>(SizeOf(object));
      return true;
    case TypeKind::kDeque: {
      *length = static_cast<uint64_t>(SizeOf(object));
      const auto most = ReadAt<int64_t>(object, kDequeMaxLength);
      if (most > 0) *bound = static_cast<uint64_t>(most);
      return true;
    }
    case TypeKind::kDict:
      *length = ReadAt<uint64_t>(object, kDictUsed);
      if (before != nullptr && IsLruCache(before) && ReadPointer(before, kLruCacheDict) == object) {
        MeasureLruCache(before, length, bound, type_name);
      }
      return !IsNamespace(before, object);
    case TypeKind::kSet:
      *length = ReadAt<uint64_t>(object, kSetUsed);
      return true;
    case TypeKind::kPlain:
      if (!IsLruCache(object)) return false;
      MeasureLruCache(object, length, bound, type_name);
      return true;
    default:
      return false;
  }
}

void PathNamer::FromException(const void* exception, const void* child, bool any_place) {
  const size_t traceback = layout_.exception_traceback;
  if (ReadPointer(exception, traceback) == child) return;  // the frame comes next
  if (ReadPointer(exception, traceback + 8) == child) return Add(SegmentKind::kContext, 0, "__context__");
  if (ReadPointer(exception, traceback + 16) == child) return Add(SegmentKind::kContext, 0, "__cause__");
  if (ReadPointer(exception, 24) == child) return Add(SegmentKind::kAttribute, 0, "args");
  FromInstance(exception, child, any_place);
}

// Members of C types and __slots__: PyMemberDef {name, type, offset, flags, doc}.
bool PathNamer::FromMember(const void* object, const void* child, bool any_place) {
  constexpr size_t kMemberBytes = 40;
  constexpr int kObjectMember = 6, kObjectMemberEx = 16, kMaxMembers = 256, kMaxBases = 64;
  const void* type = ReadPointer(object, kObjectType);
  for (int base = 0; type != nullptr && base < kMaxBases; type = ReadPointer(type, kTypeBase), ++base) {
    const auto* member = static_cast<const char*>(ReadPointer(type, kTypeMembers));
    for (int i = 0; member != nullptr && i < kMaxMembers; ++i, member += kMemberBytes) {
      const auto* const name = ReadAt<const char*>(member, 0);
      if (name == nullptr) break;
      const int kind = ReadAt<int>(member, 8);
      const auto offset = ReadAt<int64_t>(member, 16);
      if ((kind != kObjectMember && kind != kObjectMemberEx) || offset < 16) continue;
      if (ReadPointer(object, static_cast<size_t>(offset)) != child) continue;
      any_place ? AddAnyAttribute() : Add(SegmentKind::kSlot, 0, name);
      return true;
    }
  }
  return false;
}

// 3.11 and later: attributes lie in an array beside the object, their names in the keys of its class.
bool PathNamer::FromInlineValues(const void* object, const void* child, bool any_place) {
  const void* const type = ReadPointer(object, kObjectType);
  const auto flags = ReadAt<uint64_t>(type, kTypeFlags);
  if (layout_.minor < 11 || (flags & kManagedDictFlag) == 0 || (flags & kHeapTypeFlag) == 0) return false;
  const char* values = nullptr;
  const auto* const base = static_cast<const char*>(object);
  if (layout_.minor == 11) {
    values = ReadAt<const char*>(base - 32, 0);
  } else if (layout_.minor == 12) {
    const auto word = ReadAt<uintptr_t>(base - 24, 0);
    if ((word & 1) != 0) values = reinterpret_cast<const char*>(word + 1);
  } else if ((flags & kInlineValuesFlag) != 0) {
    const char* const inline_values = base + ReadAt<int64_t>(type, kTypeBasicSize);
    constexpr size_t kValid = 3;
    if (inline_values[kValid] != 0) values = inline_values + 8;
  }
  const void* const keys = ReadPointer(type, layout_.cached_keys);
  if (values == nullptr || keys == nullptr) return false;
  constexpr size_t kLog2IndexBytes = 9, kKeysKind = 10, kEntryCount = 24, kIndices = 32;
  constexpr int64_t kMaxEntries = 128;
  const auto* entry =
      static_cast<const char*>(keys) + kIndices + (size_t{1} << ReadAt<uint8_t>(keys, kLog2IndexBytes));
  const bool is_general = ReadAt<uint8_t>(keys, kKeysKind) == 0;
  const int64_t count = ReadAt<int64_t>(keys, kEntryCount);
  for (int64_t i = 0; i < count && i < kMaxEntries; ++i) {
    if (ReadPointer(values, 8 * static_cast<size_t>(i)) != child) continue;
    const void* const name = is_general ? ReadPointer(entry, 24 * static_cast<size_t>(i) + 8)
                                        : ReadPointer(entry, 16 * static_cast<size_t>(i));
    any_place ? AddAnyAttribute() : AddText(SegmentKind::kAttribute, name);
    return true;
  }
  return false;
}

void PathNamer::FromInstance(const void* object, const void* child, bool any_place) {
  if (KindOf(child) == TypeKind::kDict && IsNamespace(object, child)) return;
  const char* const type_name = ShortNameOfType(ReadPointer(object, kObjectType));
  const bool is_weak = strcmp(type_name, "weakref") == 0 || strcmp(type_name, "ReferenceType") == 0;
  if (is_weak && ReadPointer(object, 24) == child) return Add(SegmentKind::kWeakCallback, 0, {});
  if (IsLruCache(object)) {
    if (ReadPointer(object, kLruCacheDict) == child) return;
    if (ReadPointer(object, kLruCacheFunction) == child) return Add(SegmentKind::kFunction, 0, {});
    return Add(SegmentKind::kKey, 0, {});  // a result
  }
  if (strcmp(type_name, "_lru_list_elem") == 0) return;
  if (IsContextPart(type_name)) return;  // the variable has the name
  if (FromMember(object, child, any_place) || FromInlineValues(object, child, any_place)) return;
  if (strcmp(type_name, "memoryview") == 0 || strcmp(type_name, "managedbuffer") == 0)
    return Add(SegmentKind::kBuffer, 0, type_name);
  AddInside(object);
}

}  // namespace plateau::python::holders
