#include "preload/cuda/wrapper_slots.h"

#include <string.h>

#include <atomic>

#include "preload/base/real_symbol.h"
#include "preload/cuda/loader_state.h"

namespace plateau::cuda {

const CallInfo kCalls[kRowCount] = {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) \
  {#name, "", 0, PLATEAU_LEVEL_RUNTIME, PLATEAU_MEMORY_##memory},
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) \
  {#name, lookup, since, PLATEAU_LEVEL_DRIVER, PLATEAU_MEMORY_##memory},
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
};

namespace {

constinit std::atomic<void*> g_slots[kRowCount][kSlotsPerRow];
constinit std::atomic<uint32_t> g_unwrapped[kRowCount];

// Where exported wrappers forward to, by row and call site. An entry keeps its key for good; a full
// neighbourhood only means that the site is looked up again each time.
struct CallSite {
  std::atomic<uint64_t> key{0};
  UnloadAwarePointer real;
};
constexpr uint64_t kCallSites = 1024;
constexpr uint64_t kMaxProbes = 16;
constinit CallSite g_call_sites[kCallSites];

int FindRow(const char* name) {
  if (name[0] != 'c' || name[1] != 'u') return -1;
  for (int row = 0; row < kRowCount; ++row) {
    if (strcmp(kCalls[row].name, name) == 0) return row;
  }
  return -1;
}

void* Wrap(int row, void* real) {
  if (IsOurs(real)) return real;
  for (int slot = 0; slot < kSlotsPerRow; ++slot) {
    void* holder = g_slots[row][slot].load(std::memory_order_acquire);
    if (holder == nullptr &&
        g_slots[row][slot].compare_exchange_strong(holder, real, std::memory_order_acq_rel)) {
      holder = real;
    }
    if (holder == real) return WrapperOfSlot(static_cast<Row>(row), slot);
  }
  g_unwrapped[row].fetch_add(1, std::memory_order_relaxed);
  return real;
}

CallSite* SiteOf(Row row, const void* return_address) {
  const uint64_t key = (reinterpret_cast<uint64_t>(return_address) << 8) ^ (static_cast<uint64_t>(row) + 1);
  const uint64_t start = (key * 0x9e3779b97f4a7c15u) >> 48;
  for (uint64_t probe = 0; probe < kMaxProbes; ++probe) {
    CallSite& site = g_call_sites[(start + probe) % kCallSites];
    uint64_t holder = site.key.load(std::memory_order_acquire);
    if (holder == 0 && site.key.compare_exchange_strong(holder, key, std::memory_order_acq_rel)) holder = key;
    if (holder == key) return &site;
  }
  return nullptr;
}

}  // namespace

bool IsWrappedName(const char* name) { return FindRow(name) >= 0; }

void* WrapByName(const char* name, void* real) {
  const int row = FindRow(name);
  return row < 0 ? real : Wrap(row, real);
}

void* WrapDriverFunction(const char* lookup, void* real, int version) {
  if (lookup[0] != 'c' || lookup[1] != 'u') return real;
  for (int row = 0; row < kRowCount; ++row) {
    const CallInfo& call = kCalls[row];
    if (call.lookup[0] == '\0' || strcmp(call.lookup, lookup) != 0) continue;
    return version >= call.since_version ? Wrap(row, real) : real;
  }
  return real;
}

void* RealOfSlot(Row row, int slot) {
  return g_slots[static_cast<int>(row)][slot].load(std::memory_order_acquire);
}

void* RealForCaller(Row row, const void* return_address) {
  const uint64_t unloads = UnloadCount();
  CallSite* site = SiteOf(row, return_address);
  if (site != nullptr) {
    if (void* known = site->real.Get(unloads)) return known;
  }
  void* real = FindRealSymbol(kCalls[static_cast<int>(row)].name, return_address);
  if (real != nullptr && site != nullptr) site->real.Set(real, unloads);
  return real;
}

}  // namespace plateau::cuda

int plateau_cuda_list_handed_out(struct plateau_cuda_handed_out* entries, int capacity) {
  using namespace plateau::cuda;
  int used = 0;
  for (int row = 0; row < kRowCount; ++row) {
    struct plateau_cuda_handed_out entry {
      kCalls[row].name, 0, g_unwrapped[row].load(std::memory_order_relaxed)
    };
    for (const auto& slot : g_slots[row])
      entry.count += slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    if (entry.count == 0) continue;
    if (used < capacity) entries[used] = entry;
    ++used;
  }
  return used;
}
