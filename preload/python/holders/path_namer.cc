#include "preload/python/holders/path_namer.h"

#include <cstring>

#include "preload/base/fixed_text.h"
#include "preload/base/options.h"
#include "preload/ledger/secrets.h"
#include "preload/python/interpreter.h"
#include "preload/python/text.h"

namespace plateau::python::holders {
namespace {

using trace::SegmentKind;

constexpr size_t kTextRoom = 256;
constexpr size_t kLruCacheDict = 72;
constexpr size_t kLruCacheFunction = 88;
constexpr size_t kLruCacheMaxSize = 96;

std::string_view Text(const void* text, char* buffer) {
  return TextOf(g_interpreter.layout, text, buffer, kTextRoom);
}

bool IsText(const void* object) {
  return object != nullptr &&
         (ReadAt<uint64_t>(ReadPointer(object, kObjectType), kTypeFlags) & kTextFlag) != 0;
}

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

// ---- Writing ----

void PathNamer::Start(trace::HolderPathWriter* out) {
  out_ = out;
  has_last_ = repeats_ = false;
  free_variable_ = nullptr;
  is_cell_named_ = false;
}

void PathNamer::Add(SegmentKind kind, uint64_t number, std::string_view text) {
  if (text.size() > sizeof(last_text_)) text = text.substr(0, sizeof(last_text_));
  if (has_last_ && kind == last_kind_ && number == last_number_ &&
      text == std::string_view(last_text_, last_text_bytes_)) {
    repeats_ = true;
    return;
  }
  Finish();
  out_->Add({kind, number, text});
  has_last_ = true;
  last_kind_ = kind;
  last_number_ = number;
  last_text_bytes_ = text.size();
  memcpy(last_text_, text.data(), text.size());
}

void PathNamer::Finish() {
  if (repeats_) out_->Add({SegmentKind::kRepeat, 0, {}});
  repeats_ = has_last_ = false;
}

void PathNamer::AddText(SegmentKind kind, const void* text, uint64_t number) {
  char buffer[kTextRoom];
  Add(kind, number, holders::IsText(text) ? Text(text, buffer) : std::string_view());
}

void PathNamer::AddInside(const void* parent) {
  Add(SegmentKind::kInside, 0, ShortNameOfType(ReadPointer(parent, kObjectType)));
}

void PathNamer::Root(uint32_t node) {
  const void* const object = nodes_.object(node);
  switch (nodes_.tag(node)) {
    case NodeTag::kFrame: {
      const void* const code = ReadPointer(object, g_interpreter.layout.frame_code);
      return AddFrame(SegmentKind::kFrame, code, OffsetInCode(object, code));
    }
    case NodeTag::kThread:
      return Add(SegmentKind::kInterpreter, 0, "thread state");
    case NodeTag::kPart:
      return;
    case NodeTag::kObject:
      break;
  }
  const uint32_t parent = nodes_.parent(node);
  const WalkPart part =
      parent != 0 && nodes_.tag(parent) == NodeTag::kPart ? nodes_.part(parent) : WalkPart::kNone;
  if (part == WalkPart::kThreads) return AddFrameObject(object);
  if (part == WalkPart::kNative)
    return Add(SegmentKind::kNative, 0, ShortNameOfType(ReadPointer(object, kObjectType)));
  if (part == WalkPart::kModules && KindOf(object) == TypeKind::kModule) {
    ptrdiff_t position = 0;
    void *key = nullptr, *value = nullptr;
    while (functions_.dict_next(functions_.module_dict(), &position, &key, &value) != 0) {
      if (value == object) return AddText(SegmentKind::kModule, key);
    }
  }
  AddInside(object);
}

void PathNamer::StepFromRoot(uint32_t node, const void* child) {
  if (nodes_.tag(node) == NodeTag::kFrame) FromInterpreterFrame(nodes_.object(node), child);
}

// ---- One step ----

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

void PathNamer::AddKey(const void* key) {
  const TypeInfo& info = types_.Of(key);
  const auto flags = ReadAt<uint64_t>(info.type, kTypeFlags);
  const bool is_bytes = (flags & kBytesFlag) != 0;
  if (is_bytes || (flags & kTextFlag) != 0) {
    char buffer[kTextRoom], masked[kTextRoom];
    std::string_view name = is_bytes ? std::string_view(static_cast<const char*>(key) + kBytesData,
                                                        static_cast<size_t>(SizeOf(key)))
                                     : Text(key, buffer);
    if (!g_options.keep_arguments)
      name = {masked, MaskValue("", name.substr(0, kTextRoom), masked, kTextRoom)};
    return Add(SegmentKind::kKey, is_bytes ? 2 : 1, name);
  }
  FixedText<64> text;
  if ((flags & kLongFlag) != 0) {
    const bool has_tag = layout_.minor >= 12;
    const auto word = ReadAt<int64_t>(key, 16);
    const int64_t digits = has_tag ? word >> 3 : word < 0 ? -word : word;
    const bool is_negative = has_tag ? (word & 3) == 2 : word < 0;
    if (digits <= 2) {
      uint64_t value = digits > 0 ? ReadAt<uint32_t>(key, 24) : 0;
      if (digits == 2) value |= static_cast<uint64_t>(ReadAt<uint32_t>(key, 28)) << 30;
      if (is_negative) text << '-';
      text << value;
      return Add(SegmentKind::kKey, 3, text.view());
    }
  }
  text << '<' << ShortNameOfType(info.type) << '>';
  Add(SegmentKind::kKey, 3, text.view());
}

void PathNamer::FromDict(const void* before, const void* dict, const void* child, bool any_place) {
  SegmentKind kind = SegmentKind::kKey;
  if (IsNamespace(before, dict)) {
    const TypeKind owner = KindOf(before);
    kind = owner == TypeKind::kModule ? SegmentKind::kGlobal
           : owner == TypeKind::kType ? SegmentKind::kTypeDict
                                      : SegmentKind::kAttribute;
  } else if (before != nullptr && KindOf(before) == TypeKind::kFunction) {
    kind = ReadPointer(before, layout_.function_keyword_defaults) == dict ? SegmentKind::kDefault
                                                                          : SegmentKind::kAttribute;
  }
  // Of a large dict with many such values it is not worth finding out which one this is.
  constexpr int kMaxLooks = 4096;
  const bool may_be_any = kind == SegmentKind::kKey && any_place;
  ptrdiff_t position = 0;
  void *key = nullptr, *value = nullptr;
  for (int looks = 0; (!may_be_any || looks < kMaxLooks) &&
                      functions_.dict_next(const_cast<void*>(dict), &position, &key, &value) != 0;
       ++looks) {
    if (key == child) return Add(SegmentKind::kKeyItself, 0, {});
    if (value != child) continue;
    if (may_be_any) break;
    return kind == SegmentKind::kKey ? AddKey(key) : AddText(kind, key);
  }
  if (may_be_any) return Add(SegmentKind::kKey, 0, {});
  AddInside(dict);
}

void PathNamer::FromTuple(const void* before, const void* tuple, const void* child, bool any_place) {
  const int64_t count = SizeOf(tuple);
  int64_t index = 0;
  while (index < count && TupleItem(tuple, index) != child) ++index;
  if (before != nullptr && KindOf(before) == TypeKind::kFunction) {
    const void* const code = ReadPointer(before, layout_.function_code);
    if (ReadPointer(before, layout_.function_closure) == tuple) {
      free_variable_ = FreeVariable(code, index, count);
      return;
    }
    if (ReadPointer(before, layout_.function_defaults) == tuple) {
      const size_t field = layout_.minor <= 10 ? kCodeArgumentCount : layout_.minor == 11 ? 56 : 52;
      const void* const names = ReadPointer(code, layout_.minor <= 10 ? kCodeVarNames : kCodeLocalNames);
      const int64_t at = ReadAt<int32_t>(code, field) - count + index;
      return AddText(SegmentKind::kDefault, at >= 0 && at < SizeOf(names) ? TupleItem(names, at) : nullptr);
    }
  }
  Add(SegmentKind::kIndex, any_place || index == count ? 0 : static_cast<uint64_t>(index) + 1, {});
}

void PathNamer::FromException(const void* exception, const void* child) {
  const size_t traceback = layout_.exception_traceback;
  if (ReadPointer(exception, traceback) == child) return;  // the frame comes next
  if (ReadPointer(exception, traceback + 8) == child) return Add(SegmentKind::kContext, 0, "__context__");
  if (ReadPointer(exception, traceback + 16) == child) return Add(SegmentKind::kContext, 0, "__cause__");
  if (ReadPointer(exception, 24) == child) return Add(SegmentKind::kAttribute, 0, "args");
  FromInstance(exception, child);
}

// Members of C types and __slots__: PyMemberDef {name, type, offset, flags, doc}.
bool PathNamer::FromMember(const void* object, const void* child) {
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
      Add(SegmentKind::kSlot, 0, name);
      return true;
    }
  }
  return false;
}

// 3.11 and later: attributes lie in an array beside the object, their names in the keys of its class.
bool PathNamer::FromInlineValues(const void* object, const void* child) {
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
    AddText(SegmentKind::kAttribute, name);
    return true;
  }
  return false;
}

void PathNamer::FromInstance(const void* object, const void* child) {
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
  if (FromMember(object, child) || FromInlineValues(object, child)) return;
  if (strcmp(type_name, "memoryview") == 0 || strcmp(type_name, "managedbuffer") == 0)
    return Add(SegmentKind::kBuffer, 0, type_name);
  AddInside(object);
}

void PathNamer::Step(const void* before, const void* parent, const void* child, bool any_place) {
  const void* const free_variable = free_variable_;
  const bool was_cell_named = is_cell_named_;
  free_variable_ = nullptr;
  is_cell_named_ = false;
  switch (KindOf(parent)) {
    case TypeKind::kModule:
      if (ReadPointer(parent, kModuleDict) != child) AddInside(parent);
      return;
    case TypeKind::kDict:
      return FromDict(before, parent, child, any_place);
    case TypeKind::kList: {
      const void* const items = ReadPointer(parent, kListItems);
      int64_t index = any_place ? -1 : 0;
      while (index >= 0 && index < SizeOf(parent) &&
             ReadPointer(items, 8 * static_cast<size_t>(index)) != child)
        ++index;
      if (index >= SizeOf(parent)) return FromInstance(parent, child);
      return Add(SegmentKind::kIndex, static_cast<uint64_t>(index + 1), {});
    }
    case TypeKind::kTuple:
      return FromTuple(before, parent, child, any_place);
    case TypeKind::kDeque:
      return Add(SegmentKind::kIndex, 0, {});
    case TypeKind::kSet:
      return Add(SegmentKind::kMember, 0, {});
    case TypeKind::kFunction:
      return FromFunction(parent, child);
    case TypeKind::kCell:
      if (was_cell_named) return;
      return AddText(SegmentKind::kCell, free_variable);
    case TypeKind::kMethod:
      if (ReadPointer(parent, kMethodSelf) == child) return Add(SegmentKind::kSelf, 0, {});
      return Add(SegmentKind::kFunction, 0, {});
    case TypeKind::kTraceback:
      if (ReadPointer(parent, kTracebackFrame) != child) return;  // the next frame
      Add(SegmentKind::kTraceback, 0, {});
      return AddFrameObject(child);
    case TypeKind::kFrame:
      return FromFrameObject(parent, child);
    case TypeKind::kGenerator:
      return FromGenerator(parent, child);
    case TypeKind::kException:
      return FromException(parent, child);
    case TypeKind::kType:
      if (ReadPointer(parent, kTypeDict) == child) return;
      return AddInside(parent);
    case TypeKind::kNumpyArray:
      if (ReadPointer(parent, 48) == child) return Add(SegmentKind::kBuffer, 0, "base");
      return Add(SegmentKind::kIndex, 0, {});
    default:
      break;
  }
  const char* const type_name = ShortNameOfType(ReadPointer(parent, kObjectType));
  if (strcmp(type_name, "hamt_bitmap_node") == 0) {
    for (int64_t i = 1; i < SizeOf(parent); i += 2) {
      if (ReadPointer(parent, 32 + 8 * static_cast<size_t>(i)) != child) continue;
      const void* const variable = ReadPointer(parent, 24 + 8 * static_cast<size_t>(i));
      if (variable != nullptr) return AddText(SegmentKind::kContextVar, ReadPointer(variable, 16));
    }
  }
  FromInstance(parent, child);
}

}  // namespace plateau::python::holders
