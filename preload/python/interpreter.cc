#include "preload/python/interpreter.h"

#include <link.h>

#include <cstring>

#include "preload/base/module_walk.h"
#include "preload/python/module_symbols.h"
#include "preload/python/walk_scope.h"

namespace plateau::python {

constinit std::atomic<InterpreterState> g_interpreter_state{InterpreterState::kAbsent};
constinit Interpreter g_interpreter{};

namespace {

constinit ModuleSymbols g_module;
constinit std::atomic<bool> g_looking{false};
constinit unsigned long long g_loaded = 0;  // modules loaded so far, at the last look

struct Search {
  bool is_first = true;
  bool found = false;
  ModuleSymbols executable;
  ModuleSymbols module;
};

int CountLoaded(dl_phdr_info* info, size_t, void* context) {
  *static_cast<unsigned long long*>(context) = info->dlpi_adds;
  return 1;
}

int IsInterpreter(dl_phdr_info* info, size_t, void* context) {
  if (ModuleSymbols(*info).begin() != g_interpreter.module_begin) return 0;
  *static_cast<bool*>(context) = true;
  return 1;
}

int VisitModule(dl_phdr_info* info, size_t, void* context) {
  auto* search = static_cast<Search*>(context);
  const ModuleSymbols symbols(*info);
  if (search->is_first) search->executable = symbols;
  if (symbols.Find("PyGILState_GetThisThreadState").address != nullptr) {
    search->found = true;
    search->module = symbols;
  }
  search->is_first = false;
  return search->found ? 1 : 0;
}

// Data may have been copied into the executable (a copy relocation); then everybody uses that one.
const void* FindData(const Search& search, const char* name) {
  if (void* copy = search.executable.Find(name).address) return copy;
  return search.module.Find(name).address;
}

void SetVersionText(const InterpreterSymbols& symbols, char* out, size_t capacity) {
  size_t size = 0;
  auto append_number = [&](unsigned value, char separator) {
    if (value >= 100) value = 99;
    if (value >= 10) out[size++] = static_cast<char>('0' + value / 10);
    out[size++] = static_cast<char>('0' + value % 10);
    if (separator != '\0') out[size++] = separator;
  };
  if (symbols.version != nullptr) {
    const unsigned long version = *symbols.version;
    append_number(version >> 24 & 0xff, '.');
    append_number(version >> 16 & 0xff, '.');
    append_number(version >> 8 & 0xff, '\0');
  } else if (symbols.get_version != nullptr) {
    for (const char* p = symbols.get_version(); *p > ' ' && size + 1 < capacity; ++p) out[size++] = *p;
  }
  out[size] = '\0';
}

void Describe(const Search& search) {
  Interpreter& interpreter = g_interpreter;
  const InterpreterSymbols symbols = {
      .code_type = FindData(search, "PyCode_Type"),
      .runtime = FindData(search, "_PyRuntime"),
      .version = static_cast<const unsigned long*>(FindData(search, "Py_Version")),
      .get_version = reinterpret_cast<const char* (*)()>(search.module.Find("Py_GetVersion").address),
  };
  g_module = search.module;
  interpreter.version = PythonVersion(symbols);
  SetVersionText(symbols, interpreter.version_text, sizeof(interpreter.version_text));
  interpreter.code_type = symbols.code_type;
  interpreter.this_thread_state =
      reinterpret_cast<void* (*)()>(search.module.Find("PyGILState_GetThisThreadState").address);
  interpreter.module_begin = search.module.begin();
  interpreter.module_end = search.module.end();
  const ModuleSymbol eval = search.module.Find("_PyEval_EvalFrameDefault");
  interpreter.eval_begin = reinterpret_cast<uintptr_t>(eval.address);
  interpreter.eval_end = interpreter.eval_begin + eval.bytes;

  interpreter.refusal = FindLayout(symbols, &interpreter.layout);
  if (interpreter.refusal != nullptr) {
    g_interpreter_state.store(InterpreterState::kUnsupported, std::memory_order_release);
    return;
  }
  interpreter.this_thread_state();  // binds its PLT slots now rather than in a hook
  StartWalkGuard(static_cast<const char*>(symbols.runtime) + interpreter.layout.runtime_finalizing);
  g_interpreter_state.store(InterpreterState::kReady, std::memory_order_release);
}

}  // namespace

void NoticeModules() {
  if (g_interpreter_state.load(std::memory_order_acquire) != InterpreterState::kAbsent) return;
  if (g_looking.exchange(true, std::memory_order_acquire)) return;
  unsigned long long loaded = 0;
  WalkModules(CountLoaded, &loaded);
  if (loaded != g_loaded) {
    Search search;
    WalkModules(VisitModule, &search);
    g_interpreter.may_unload = g_loaded != 0;
    if (search.found) Describe(search);
    g_loaded = loaded;
  }
  g_looking.store(false, std::memory_order_release);
}

void BeforeModulesGo() {
  if (Ready() && g_interpreter.may_unload) SuspendWalks();
}

void AfterModulesWent() {
  if (!Ready() || !g_interpreter.may_unload) return;
  bool is_loaded = false;
  WalkModules(IsInterpreter, &is_loaded);
  if (!is_loaded) {
    g_loaded = 0;
    g_interpreter_state.store(InterpreterState::kAbsent, std::memory_order_release);
  }
  ResumeWalks(is_loaded);
}

void* InterpreterSymbol(const char* name) {
  if (g_interpreter_state.load(std::memory_order_acquire) == InterpreterState::kAbsent) return nullptr;
  return g_module.Find(name).address;
}

}  // namespace plateau::python
