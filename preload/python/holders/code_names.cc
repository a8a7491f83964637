// Names that code objects give along a chain: of functions, their cells and defaults, frames and their locals, generators.
#include "preload/python/holders/path_namer.h"
#include "preload/python/interpreter.h"
#include "preload/python/text.h"

namespace plateau::python::holders {
namespace {

using trace::SegmentKind;

constexpr size_t kTextRoom = 256;

std::string_view Text(const void* text, char* buffer) {
  return TextOf(g_interpreter.layout, text, buffer, kTextRoom);
}

// A qualified name that is longer than a segment is cut in front: "<locals>.batches" says more than "train_one_ep".
std::string_view CutInFront(std::string_view name) {
  if (name.size() <= trace::kMaxSegmentTextBytes) return name;
  const std::string_view rest = name.substr(name.size() - trace::kMaxSegmentTextBytes);
  const size_t dot = rest.find('.');
  if (dot != std::string_view::npos && dot + 1 < rest.size()) return rest.substr(dot + 1);
  const size_t last = name.rfind('.');
  return last != std::string_view::npos ? name.substr(last + 1) : name;
}

}  // namespace

void PathNamer::AddFrame(SegmentKind kind, const void* code, int offset) {
  const int line = functions_.line_of(const_cast<void*>(code), offset);
  char buffer[kTextRoom];
  const std::string_view name = Text(ReadPointer(code, g_interpreter.layout.code_name), buffer);
  Add(kind, line > 0 ? static_cast<uint64_t>(line) : 0, CutInFront(name));
  std::string_view file = Text(ReadPointer(code, g_interpreter.layout.code_file), buffer);
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file = file.substr(slash + 1);
  Add(SegmentKind::kFile, 0, file);
}

int PathNamer::OffsetInCode(const void* frame, const void* code) const {
  const Layout& layout = g_interpreter.layout;
  if (layout.position == Position::kPointer) {
    const auto* at = static_cast<const char*>(ReadPointer(frame, layout.frame_position));
    const auto offset = at - (static_cast<const char*>(code) + layout.code_bytecode);
    return offset > 0 ? static_cast<int>(offset) : 0;
  }
  const int32_t last = ReadAt<int32_t>(frame, layout.frame_position);
  return layout.position == Position::kCodeUnit ? last * 2 : last;
}

const void* PathNamer::FreeVariable(const void* code, int64_t index, int64_t count) const {
  if (layout_.minor <= 10) {
    const void* const names = ReadPointer(code, kCodeFreeNames);
    return index < SizeOf(names) ? TupleItem(layout_, names, index) : nullptr;
  }
  const void* const names = ReadPointer(code, kCodeLocalNames);
  const int64_t at = SizeOf(names) - count + index;
  return at >= 0 && at < SizeOf(names) ? TupleItem(layout_, names, at) : nullptr;
}

void PathNamer::FromFunction(const void* function, const void* child) {
  for (const size_t field :
       {layout_.function_closure, layout_.function_defaults, layout_.function_keyword_defaults}) {
    if (ReadPointer(function, field) == child) return;  // the next step has the name
  }
  if (KindOf(child) == TypeKind::kDict) return;
  AddInside(function);
}

bool PathNamer::AddLocal(const void* code, const char* locals, const void* child) {
  const auto add = [&](const void* name) {
    AddText(SegmentKind::kLocal, name);
    is_cell_named_ = true;
    return true;
  };
  if (layout_.minor >= 11) {
    const void* const names = ReadPointer(code, kCodeLocalNames);
    for (int64_t i = 0; i < SizeOf(names); ++i) {
      if (StackReference(locals, 8 * static_cast<size_t>(i)) == child)
        return add(TupleItem(layout_, names, i));
    }
    return false;
  }
  size_t at = 0;
  for (const size_t field : {kCodeVarNames, kCodeCellNames, kCodeFreeNames}) {
    const void* const names = ReadPointer(code, field);
    // The names of locals begin with those of variables; only so many have a place.
    for (int64_t i = 0; i < SizeOf(names); ++i, ++at) {
      if (ReadPointer(locals, 8 * at) == child) return add(TupleItem(layout_, names, i));
    }
  }
  return false;
}

void PathNamer::FromInterpreterFrame(const void* frame, const void* child) {
  const void* const code = StackReference(frame, g_interpreter.layout.frame_code);
  if (AddLocal(code, static_cast<const char*>(frame) + layout_.frame_locals, child)) return;
  if (child != nullptr && KindOf(child) == TypeKind::kDict) return;
  Add(SegmentKind::kInside, 0, "frame");
}

void PathNamer::AddFrameObject(const void* frame) {
  const void* inner = layout_.minor >= 11 ? ReadPointer(frame, kFrameObjectFrame) : frame;
  if (inner == nullptr) return AddInside(frame);
  const void* const code = StackReference(inner, g_interpreter.layout.frame_code);
  AddFrame(SegmentKind::kFrame, code, OffsetInCode(inner, code));
}

void PathNamer::FromFrameObject(const void* frame, const void* child) {
  if (layout_.minor >= 11) {
    const void* const inner = ReadPointer(frame, kFrameObjectFrame);
    if (inner != nullptr) return FromInterpreterFrame(inner, child);
    return AddInside(frame);
  }
  FromInterpreterFrame(frame, child);
}

void PathNamer::FromGenerator(const void* generator, const void* child) {
  const void* frame = static_cast<const char*>(generator) + layout_.generator_frame;
  if (layout_.minor <= 10) {
    frame = ReadPointer(generator, layout_.generator_frame);
    if (frame == nullptr) return AddInside(generator);
  }
  const void* const code = StackReference(frame, g_interpreter.layout.frame_code);
  if (code == nullptr || ReadPointer(code, kObjectType) != g_interpreter.code_type)
    return AddInside(generator);
  AddFrame(SegmentKind::kGenerator, code, OffsetInCode(frame, code));
  if (frame == child) return;  // up to 3.10 it is an object, which has the name
  if (!AddLocal(code, static_cast<const char*>(frame) + layout_.frame_locals, child)) AddInside(generator);
}

}  // namespace plateau::python::holders
