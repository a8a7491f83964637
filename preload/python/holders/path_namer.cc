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

std::string_view Text(const void* text, char* buffer) {
  return TextOf(g_interpreter.layout, text, buffer, kTextRoom);
}

bool IsText(const void* object) {
  return object != nullptr &&
         (ReadAt<uint64_t>(ReadPointer(object, kObjectType), kTypeFlags) & kTextFlag) != 0;
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
      const void* const code = StackReference(object, g_interpreter.layout.frame_code);
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

// One of many attributes of the same object.
void PathNamer::AddAnyAttribute() { Add(SegmentKind::kAttribute, 1, {}); }

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
    if (any_place && (kind == SegmentKind::kAttribute || kind == SegmentKind::kTypeDict))
      return AddAnyAttribute();
    return kind == SegmentKind::kKey ? AddKey(key) : AddText(kind, key);
  }
  if (may_be_any) return Add(SegmentKind::kKey, 0, {});
  AddInside(dict);
}

void PathNamer::FromTuple(const void* before, const void* tuple, const void* child, bool any_place) {
  const int64_t count = SizeOf(tuple);
  int64_t index = 0;
  while (index < count && TupleItem(layout_, tuple, index) != child) ++index;
  if (index == count && IsNamespace(tuple, child)) return;
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
      return AddText(SegmentKind::kDefault,
                     at >= 0 && at < SizeOf(names) ? TupleItem(layout_, names, at) : nullptr);
    }
  }
  Add(SegmentKind::kIndex, any_place || index == count ? 0 : static_cast<uint64_t>(index) + 1, {});
}

void PathNamer::Step(const void* before, const void* parent, const void* child, bool any_place) {
  const void* const free_variable = free_variable_;
  const bool was_cell_named = is_cell_named_;
  free_variable_ = nullptr;
  is_cell_named_ = false;
  const TypeKind kind = KindOf(parent);
  // The attributes of an instance of a derived class; an item of a tuple may be a dict of another's.
  if (kind != TypeKind::kTuple && kind != TypeKind::kType && IsNamespace(parent, child)) return;
  const bool is_container = kind == TypeKind::kList || kind == TypeKind::kTuple || kind == TypeKind::kDict ||
                            kind == TypeKind::kSet || kind == TypeKind::kDeque;
  if (is_container && FromInlineValues(parent, child, any_place)) return;
  switch (kind) {
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
      if (index >= SizeOf(parent)) return FromInstance(parent, child, any_place);
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
      return FromException(parent, child, any_place);
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
  FromInstance(parent, child, any_place);
}

}  // namespace plateau::python::holders
