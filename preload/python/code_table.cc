#include "preload/python/code_table.h"

#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "preload/python/interpreter.h"
#include "preload/python/raw_read.h"
#include "preload/python/text.h"
#include "preload/trace/encoder.h"

namespace plateau::python {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
constexpr size_t kWays = 4;
constexpr size_t kAddressSets = 1 << 12;
constexpr size_t kContentSets = 1 << 13;
constexpr size_t kFingerprintWords = sizeof(CodeFingerprint) / sizeof(uint64_t);

// A small sequence lock: odd while somebody writes.
struct AddressEntry {
  std::atomic<uint32_t> sequence;
  std::atomic<uint32_t> id;
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> fingerprint[kFingerprintWords];
};

// Torn reads miss, because the hash is stored mixed with the id.
struct ContentEntry {
  std::atomic<uint64_t> mixed_hash;
  std::atomic<uint64_t> id;
};

struct Tables {
  AddressEntry addresses[kAddressSets][kWays];
  ContentEntry contents[kContentSets][kWays];
};

constinit std::atomic<Tables*> g_tables{nullptr};
constinit std::atomic<uint32_t> g_last_id{0};
constinit std::atomic<uint64_t> g_address_reuses{0};

// Names that are not ASCII are decoded here, not on a stack whose size nobody knows.
struct Scratch {
  std::atomic<bool> taken;
  char file[trace::kMaxNameBytes];
  char name[trace::kMaxNameBytes];
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

Tables* GetTables() {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables != nullptr) [[likely]]
    return tables;
  const int saved_errno = errno;
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved_errno;
  if (memory == MAP_FAILED) return nullptr;
  auto* fresh = static_cast<Tables*>(memory);
  if (g_tables.compare_exchange_strong(tables, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, sizeof(Tables));
  return tables;
}

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
  return HashBytes(hash ^ record.line_table.size(), &record.python_version, sizeof(record.python_version));
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

uint32_t IdByContent(Tables* tables, const void* code, EmitCode emit, void* context) {
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
  ContentEntry* set = tables->contents[hash >> 32 & (kContentSets - 1)];
  ContentEntry* victim = nullptr;
  for (size_t way = 0; way < kWays; ++way) {
    const uint64_t id = set[way].id.load(std::memory_order_acquire);
    if (id == 0 && victim == nullptr) victim = &set[way];
    if (id != 0 && (set[way].mixed_hash.load(std::memory_order_relaxed) ^ id * kMultiplier) == hash) {
      return static_cast<uint32_t>(id);
    }
  }
  record.code = g_last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!emit(context, record)) return 0;
  // The record is in the trace before anybody else can use its number.
  if (victim == nullptr) victim = &set[record.code % kWays];
  victim->mixed_hash.store(hash ^ record.code * kMultiplier, std::memory_order_relaxed);
  victim->id.store(record.code, std::memory_order_release);
  return record.code;
}

}  // namespace

CodeFingerprint FingerprintOf(const void* code) {
  const Layout& layout = g_interpreter.layout;
  CodeFingerprint print = {};
  const void* name = ReadPointer(code, layout.code_name);
  const void* table = ReadPointer(code, layout.code_line_table);
  print.file = ReadAt<uint64_t>(code, layout.code_file);
  print.name = reinterpret_cast<uint64_t>(name);
  print.name_hash = name != nullptr ? ReadAt<uint64_t>(name, kTextHash) : 0;
  print.line_table = reinterpret_cast<uint64_t>(table);
  print.first_line_and_version = ReadAt<uint32_t>(code, layout.code_first_line);
  if (layout.code_version != kNoField) {
    print.first_line_and_version |= static_cast<uint64_t>(ReadAt<uint32_t>(code, layout.code_version)) << 32;
  }
  if (table == nullptr) return print;
  print.line_table_bytes = ReadAt<uint64_t>(table, kObjectSize);
  const char* bytes = static_cast<const char*>(table) + kBytesData;
  if (print.line_table_bytes >= 8) {
    print.table_head = ReadAt<uint64_t>(bytes, 0);
    print.table_tail = ReadAt<uint64_t>(bytes, print.line_table_bytes - 8);
  } else {
    memcpy(&print.table_head, bytes, print.line_table_bytes);
  }
  return print;
}

uint32_t CodeId(const WalkScope& scope, const void* code, const CodeFingerprint& fingerprint, EmitCode emit,
                void* context) {
  Tables* tables = scope ? GetTables() : nullptr;
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
  const uint32_t id = IdByContent(tables, code, emit, context);
  if (id != 0) Remember(set, address, fingerprint, id);
  return id;
}

uint32_t CodeId(const WalkScope& scope, const void* code, EmitCode emit, void* context) {
  if (!scope) return 0;
  return CodeId(scope, code, FingerprintOf(code), emit, context);
}

CodeTableCounters CodeTableStatistics() {
  return {g_last_id.load(std::memory_order_relaxed), g_address_reuses.load(std::memory_order_relaxed)};
}

void ResetCodeTableInChild() {
  Tables* tables = g_tables.load(std::memory_order_acquire);
  if (tables != nullptr) {
    const int saved_errno = errno;
    madvise(tables, sizeof(Tables), MADV_DONTNEED);  // private and anonymous: reads as zero from now on
    errno = saved_errno;
  }
  for (Scratch& scratch : g_scratches) scratch.taken.store(false, std::memory_order_relaxed);
  g_last_id.store(0, std::memory_order_relaxed);
  g_address_reuses.store(0, std::memory_order_relaxed);
}

}  // namespace plateau::python
