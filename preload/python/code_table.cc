#include "preload/python/code_table.h"

#include <atomic>
#include <cstddef>

#include "preload/base/raw_memory.h"
#include "preload/python/interpreter.h"
#include "preload/python/layout.h"
#include "preload/python/line_table.h"
#include "preload/python/loop_table.h"
#include "preload/python/text.h"
#include "preload/trace/encoder.h"
#include "preload/unwind/intern_cache.h"

namespace plateau::python {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
constexpr size_t kWays = 4;
constexpr size_t kAddressSets = 1 << 12;
constexpr unsigned kLog2Contents = 15;
constexpr size_t kFingerprintWords = sizeof(CodeFingerprint) / sizeof(uint64_t);

// A small sequence lock: odd while somebody writes.
struct AddressEntry {
  std::atomic<uint32_t> sequence;
  std::atomic<uint32_t> id;
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> fingerprint[kFingerprintWords];
};

struct Tables {
  AddressEntry addresses[kAddressSets][kWays];
};

constinit std::atomic<Tables*> g_tables{nullptr};
constinit unwind::InternCache g_contents;  // content hash -> id
constinit std::atomic<uint32_t> g_last_id{0};
constinit std::atomic<uint64_t> g_address_reuses{0};

// Names that are not ASCII and line tables without columns are made here, not on a stack whose size nobody
// knows.
struct Scratch {
  std::atomic<bool> taken;
  char line_table[trace::kMaxLineTableBytes] = {};
  char loops[trace::kMaxLoopBytes] = {};
  char file[trace::kMaxNameBytes] = {};
  char name[trace::kMaxNameBytes] = {};
};
constexpr size_t kScratches = 16;
constinit Scratch g_scratches[kScratches];

class ScratchLease {
 public:
  ScratchLease() {
    for (Scratch& scratch : g_scratches) {
      if (scratch.taken.exchange(true, std::memory_order_acquire)) continue;
      scratch_ = &scratch;
      return;
    }
  }
  ~ScratchLease() {
    if (scratch_ != nullptr) scratch_->taken.store(false, std::memory_order_release);
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  Scratch* get() const { return scratch_; }

 private:
  Scratch* scratch_ = nullptr;
};

uint64_t HashBytes(uint64_t hash, const void* data, size_t size) {
  const auto* p = static_cast<const char*>(data);
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (; size >= 8; size -= 8, p += 8) mix(ReadAt<uint64_t>(p, 0));
  uint64_t tail = 0;
  memcpy(&tail, p, size);
  mix(tail);
  mix(size);
  return hash;
}

uint64_t ContentHash(const trace::CodeRecord& record) {
  uint64_t hash = HashBytes(record.first_line, record.file.data(), record.file.size());
  hash = HashBytes(hash ^ record.file.size(), record.name.data(), record.name.size());
  hash = HashBytes(hash ^ record.name.size(), record.line_table.data(), record.line_table.size());
  return HashBytes(hash ^ record.line_table.size(), &record.python_version, sizeof(record.python_version)) |
         1;
}

bool SameFingerprint(const AddressEntry& entry, const CodeFingerprint& fingerprint) {
  uint64_t words[kFingerprintWords];
  memcpy(words, &fingerprint, sizeof(words));
  uint64_t difference = 0;
  for (size_t i = 0; i < kFingerprintWords; ++i) {
    difference |= words[i] ^ entry.fingerprint[i].load(std::memory_order_relaxed);
  }
  return difference == 0;
}

void Remember(AddressEntry* set, uint64_t address, const CodeFingerprint& fingerprint, uint32_t id) {
  AddressEntry* victim = &set[id % kWays];
  for (size_t way = 0; way < kWays; ++way) {
    const uint64_t key = set[way].address.load(std::memory_order_relaxed);
    if (key == address || key == 0) {
      victim = &set[way];
      if (key == address) g_address_reuses.fetch_add(1, std::memory_order_relaxed);
      break;
    }
  }
  uint32_t sequence = victim->sequence.load(std::memory_order_relaxed);
  if ((sequence & 1) != 0 ||
      !victim->sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire)) {
    return;
  }
  std::atomic_thread_fence(std::memory_order_release);
  uint64_t words[kFingerprintWords];
  memcpy(words, &fingerprint, sizeof(words));
  victim->address.store(address, std::memory_order_relaxed);
  victim->id.store(id, std::memory_order_relaxed);
  for (size_t i = 0; i < kFingerprintWords; ++i)
    victim->fingerprint[i].store(words[i], std::memory_order_relaxed);
  victim->sequence.store(sequence + 2, std::memory_order_release);
}

uint32_t IdByContent(const void* code, EmitCode emit, void* context) {
  const Layout& layout = g_interpreter.layout;
  const ScratchLease scratch;
  if (scratch.get() == nullptr) return 0;
  const void* line_table = ReadPointer(code, layout.code_line_table);
  trace::CodeRecord record = {};
  record.python_version = g_interpreter.version;
  record.first_line = ReadAt<uint32_t>(code, layout.code_first_line);
  record.file =
      TextOf(layout, ReadPointer(code, layout.code_file), scratch.get()->file, trace::kMaxNameBytes);
  record.name =
      TextOf(layout, ReadPointer(code, layout.code_name), scratch.get()->name, trace::kMaxNameBytes);
  if (line_table != nullptr) {
    record.line_table = {static_cast<const char*>(line_table) + kBytesData,
                         ReadAt<uint64_t>(line_table, kObjectSize)};
  }

  const uint64_t hash = ContentHash(record);
  if (const uint32_t known = g_contents.Find(hash)) return known;
  if (record.python_version >= kFirstVersionWithColumns) {
    record.line_table =
        WithoutColumns(record.line_table, scratch.get()->line_table, sizeof(scratch.get()->line_table));
  }
  record.loops = LoopsOf(layout, code, scratch.get()->loops, sizeof(scratch.get()->loops));
  record.code = g_last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!emit(context, record)) return 0;
  g_contents.Insert(hash, record.code);
  return record.code;
}

}  // namespace

bool InitializeCodeTable() {
  if (g_tables.load(std::memory_order_acquire) != nullptr) return true;
  void* memory = unwind::MapZeroed(sizeof(Tables));
  if (memory == nullptr || !g_contents.Initialize(kLog2Contents)) return false;
  g_tables.store(static_cast<Tables*>(memory), std::memory_order_release);
  return true;
}

uint32_t CodeId(const WalkScope& scope, const void* code, const CodeFingerprint& fingerprint, EmitCode emit,
                void* context) {
  Tables* tables = scope ? g_tables.load(std::memory_order_acquire) : nullptr;
  if (tables == nullptr) return 0;
  const auto address = reinterpret_cast<uint64_t>(code);
  AddressEntry* set = tables->addresses[(address >> 4) * kMultiplier >> 52];
  static_assert(kAddressSets == 1 << (64 - 52));
  for (size_t way = 0; way < kWays; ++way) {
    const AddressEntry& entry = set[way];
    const uint32_t sequence = entry.sequence.load(std::memory_order_acquire);
    if (entry.address.load(std::memory_order_relaxed) != address || !SameFingerprint(entry, fingerprint))
      continue;
    const uint32_t id = entry.id.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((sequence & 1) == 0 && entry.sequence.load(std::memory_order_relaxed) == sequence) return id;
  }
  const uint32_t id = IdByContent(code, emit, context);
  if (id != 0) Remember(set, address, fingerprint, id);
  return id;
}

uint32_t CodeId(const WalkScope& scope, const void* code, EmitCode emit, void* context) {
  if (!scope) return 0;
  return CodeId(scope, code, FingerprintOf(g_interpreter.layout, code), emit, context);
}

CodeTableCounters CodeTableStatistics() {
  return {g_last_id.load(std::memory_order_relaxed), g_address_reuses.load(std::memory_order_relaxed)};
}

void ForgetCodeRecords() {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables != nullptr) {
    unwind::DropPages(tables, sizeof(Tables));
    g_contents.Clear();
  }
  for (Scratch& scratch : g_scratches) scratch.taken.store(false, std::memory_order_relaxed);
  g_last_id.store(0, std::memory_order_relaxed);
  g_address_reuses.store(0, std::memory_order_relaxed);
}

}  // namespace plateau::python
