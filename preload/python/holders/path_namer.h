// The names along a chain: how each object of it holds the next one, without running code of the program.
//
//   chain, root first: module -> its dict -> Trainer -> Meter -> list -> dict
//   segments:          module __main__, global trainer, attribute meter, attribute history, index
//
// Names come from dict keys, the cached keys of classes, members of C types and of __slots__, code objects. What
// cannot be named is kInside with the type that has it. Only the objects of the chains are looked at.
//
// Call with the interpreter's lock held, right after the walk. Allocates: never.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_PATH_NAMER_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_PATH_NAMER_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/heap_layout.h"
#include "preload/python/holders/tables/node_list.h"
#include "preload/python/holders/tables/type_table.h"
#include "preload/trace/holder_path.h"

namespace plateau::python::holders {

class PathNamer {
 public:
  PathNamer(const HeapLayout& layout, const HeapFunctions& functions, const NodeList& nodes, TypeTable* types)
      : layout_(layout), functions_(functions), nodes_(nodes), types_(*types) {}

  // Begins a new path in `out`, which has been cleared.
  void Start(trace::HolderPathWriter* out);

  // Adds what leads from `parent` to `child`, the next object of the chain; `before` is the one before `parent`, null
  // at a root. With `any_place` an index, key or attribute is left open, because others of the same kind lie beside it.
  void Step(const void* before, const void* parent, const void* child, bool any_place);
  // The first segment of a chain, and what leads from a root that is no object to the first one that is.
  void Root(uint32_t node);
  void StepFromRoot(uint32_t node, const void* child);
  // Writes what repeats and has been held back.
  void Finish();

  // A dict that only stands for the names of an object: of a module, an instance, a class.
  bool IsNamespace(const void* before, const void* object);
  // Whether an object has a length, and which; `bound` is 0 when none is known.
  bool Measure(const void* before, const void* object, uint64_t* length, uint64_t* bound,
               const char** type_name);

 private:
  void Add(trace::SegmentKind kind, uint64_t number, std::string_view text);
  void AddText(trace::SegmentKind kind, const void* text, uint64_t number = 0);
  void AddInside(const void* parent);
  void AddFrame(trace::SegmentKind kind, const void* code, int offset);
  void AddFrameObject(const void* frame);
  bool AddLocal(const void* code, const char* locals, const void* child);
  void AddKey(const void* key);
  void AddAnyAttribute();
  void FromDict(const void* before, const void* dict, const void* child, bool any_place);
  void FromFunction(const void* function, const void* child);
  void FromTuple(const void* before, const void* tuple, const void* child, bool any_place);
  void FromInstance(const void* object, const void* child, bool any_place);
  void FromFrameObject(const void* frame, const void* child);
  void FromInterpreterFrame(const void* frame, const void* child);
  void FromGenerator(const void* generator, const void* child);
  void FromException(const void* exception, const void* child, bool any_place);
  bool FromMember(const void* object, const void* child, bool any_place);
  bool FromInlineValues(const void* object, const void* child, bool any_place);
  int OffsetInCode(const void* frame, const void* code) const;
  const void* FreeVariable(const void* code, int64_t index, int64_t count) const;
  TypeKind KindOf(const void* object) { return types_.Of(object).kind; }
  bool IsText(const void* object) { return KindOf(object) == TypeKind::kText; }
  bool IsDictOf(const void* object, const void* dict);

  const HeapLayout& layout_;
  const HeapFunctions& functions_;
  const NodeList& nodes_;
  TypeTable& types_;
  trace::HolderPathWriter* out_ = nullptr;
  // The free variable whose cell was the last child.
  const void* free_variable_ = nullptr;
  bool is_cell_named_ = false;
  // The last segment, to find out that it repeats.
  trace::SegmentKind last_kind_ = {};
  uint64_t last_number_ = 0;
  size_t last_text_bytes_ = 0;
  char last_text_[trace::kMaxSegmentTextBytes] = {};
  bool repeats_ = false;
  bool has_last_ = false;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_PATH_NAMER_H_
