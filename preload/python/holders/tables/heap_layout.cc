#include "preload/python/holders/tables/heap_layout.h"

#include "preload/python/interpreter.h"

namespace plateau::python::holders {
namespace {

// A row for each version, in the order of HeapLayout's fields.
// clang-format off
constexpr HeapLayout kLayouts[] = {
    //    function_   ...      ...keyword_  ...      exception_  thread_  ...      frame_  generator_  cached_    tuple_
    //    code        defaults defaults     closure  traceback   dict     context  locals  frame       keys       items
    { 8, 16,         32,      40,          48,      32,         152,     240,     360,    16,         kNoField,  24},
    { 9, 16,         32,      40,          48,      32,         152,     240,     360,    16,         kNoField,  24},
    {10, 48,         56,      64,          72,      32,         152,     240,     352,    16,         kNoField,  24},
    {11, 48,         56,      64,          72,      40,         128,     224,     72,     80,         872,       24},
    {12, 48,         56,      64,          72,      40,         112,     208,     72,     72,         880,       24},
    {13, 48,         56,      64,          72,      40,         128,     208,     72,     72,         880,       24},
    {14, 48,         56,      64,          72,      40,         128,     208,     80,     72,         880,       32},
};
// clang-format on

template <typename Function>
bool Find(Function* function, const char* name, const char* other_name = nullptr) {
  *function = reinterpret_cast<Function>(InterpreterSymbol(name));
  if (*function == nullptr && other_name != nullptr)
    *function = reinterpret_cast<Function>(InterpreterSymbol(other_name));
  return *function != nullptr;
}

// struct _gc_runtime_state of 3.8 to 3.13 (3.14: without generation0): int enabled; int debug; struct {head, int threshold, int count}
// generations[3]; head* generation0; the same for frozen objects; struct {3 words} statistics[3]; int collecting.
constexpr size_t kGeneration = 24;
constexpr size_t kGeneration0 = 3 * kGeneration;
constexpr size_t kFrozen = kGeneration0 + 8;
constexpr size_t kCollecting = kFrozen + kGeneration + 3 * 24;

bool IsListHead(const void* head) {
  const void* const next = NextInList(head);
  const auto previous = ReadAt<uintptr_t>(head, 8);
  if (next == nullptr || previous == 0) return false;
  constexpr uintptr_t kAlignment = 7;
  return ((reinterpret_cast<uintptr_t>(next) | previous) & kAlignment) == 0;
}

// Takes the lists that begin here if they look like those of a collector.
bool TakeLists(const char* lists, size_t frozen, size_t collecting, CollectorState* state) {
  for (int i = 0; i < 4; ++i) {
    state->generations[i] = lists + (i < 3 ? i * kGeneration : frozen);
    if (!IsListHead(state->generations[i])) return false;
  }
  // Only now may what they point to be read: each neighbour points back. Low bits of the way back are flags.
  for (const void* head : state->generations) {
    if ((ReadAt<uintptr_t>(NextInList(head), 8) & ~uintptr_t{3}) != reinterpret_cast<uintptr_t>(head))
      return false;
  }
  state->enabled = reinterpret_cast<const int*>(lists - 12);
  state->collecting = reinterpret_cast<const int*>(lists + collecting);
  return (*state->enabled & ~1) == 0 && (*state->collecting & ~1) == 0;
}

// Looks for generation0, which points to the first of the lists three generations before it.
bool FindLists(const char* begin, size_t bytes, CollectorState* state) {
  for (size_t at = 8; at + kCollecting + 8 <= bytes; at += 8) {
    const char* lists = begin + at;
    if (ReadAt<const char*>(lists, kGeneration0) != lists) continue;
    if (TakeLists(lists, kFrozen, kCollecting, state)) return true;
  }
  return false;
}

}  // namespace

const char* FindHeapLayout(HeapLayout* layout, HeapFunctions* functions) {
  const HeapLayout* row = nullptr;
  for (const HeapLayout& candidate : kLayouts) {
    if (candidate.minor == g_interpreter.layout.minor) row = &candidate;
  }
  if (row == nullptr) return "the objects of this version are not known";
  *layout = *row;
  HeapFunctions& f = *functions;
  const bool has_all =
      Find(&f.dict_next, "PyDict_Next") && Find(&f.module_dict, "PyImport_GetModuleDict") &&
      Find(&f.line_of, "PyCode_Addr2Line") && Find(&f.add_pending_call, "Py_AddPendingCall") &&
      Find(&f.main_interpreter, "PyInterpreterState_Main") &&
      Find(&f.first_thread, "PyInterpreterState_ThreadHead") &&
      Find(&f.unchecked_state, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
      Find(&f.is_initialized, "Py_IsInitialized") && Find(&f.runtime, "_PyRuntime");
  return has_all ? nullptr : "a function that is needed is not exported";
}

bool FindCollector(const HeapLayout& layout, const HeapFunctions& functions, CollectorState* state) {
  // 3.8 has one collector for all interpreters, in _PyRuntime.
  constexpr size_t kRuntimeBytes = 1024;
  constexpr size_t kInterpreterBytes = 16 * 1024;
  if (layout.minor == 8) return FindLists(static_cast<const char*>(functions.runtime), kRuntimeBytes, state);
  const auto* interpreter = static_cast<const char*>(functions.main_interpreter());
  if (layout.minor >= 14) {
    // _Py_DebugOffsets says where the collector is. In front of its lists are two words and two numbers.
    constexpr size_t kWordCollector = 11, kLists = 24, kFrozenOf14 = 3 * kGeneration;
    constexpr size_t kCollectingOf14 = kFrozenOf14 + kGeneration + 3 * 24;
    const auto collector = ReadAt<uint64_t>(functions.runtime, 8 * kWordCollector);
    if (interpreter == nullptr || collector >= kInterpreterBytes) return false;
    return TakeLists(interpreter + collector + kLists, kFrozenOf14, kCollectingOf14, state);
  }
  const size_t bytes = layout.minor == 9 ? kInterpreterBytes / 4 : kInterpreterBytes;
  return interpreter != nullptr && FindLists(interpreter, bytes, state);
}

}  // namespace plateau::python::holders
