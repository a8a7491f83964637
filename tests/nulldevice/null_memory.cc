#include "tests/nulldevice/null_memory.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nulldevice {
namespace {

constexpr size_t kGranularity = 512;

size_t RoundUp(size_t bytes) { return (bytes + kGranularity - 1) / kGranularity * kGranularity; }

}  // namespace

void* MapPages(size_t bytes, int protection) {
  const long pages =
      syscall(SYS_mmap, nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return pages == -1 ? nullptr : reinterpret_cast<void*>(pages);
}

void UnmapPages(void* pages, size_t bytes) { syscall(SYS_munmap, pages, bytes); }

uint64_t Setting(const char* name, uint64_t default_value) {
  const char* text = getenv(name);
  return text == nullptr ? default_value : strtoull(text, nullptr, 0);
}

void Log(const char* format, ...) {
  static const int file = [] {
    const char* path = getenv("NULLDEVICE_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  if (file < 0) return;
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  const size_t used = static_cast<size_t>(length) < sizeof line - 1 ? length : sizeof line - 2;
  line[used] = '\n';
  if (write(file, line, used + 1) < 0) return;
}

Memory& Memory::Get() {
  static Memory* memory = new Memory;
  return *memory;
}

bool Memory::Charge(int device, size_t bytes) {
  static const size_t limit = Setting("NULLDEVICE_BYTES", size_t{16} << 30);
  size_t& used = used_bytes_[device];
  if (bytes > limit || used > limit - bytes) return false;
  used += bytes;
  return true;
}

size_t Memory::FreeBytes(int device) {
  const std::lock_guard lock(mutex_);
  return Setting("NULLDEVICE_BYTES", size_t{16} << 30) - used_bytes_[device];
}

int Memory::Allocate(uintptr_t* address, size_t bytes, const Range& like) {
  if (bytes == 0 || address == nullptr) return kInvalidValue;
  const std::lock_guard lock(mutex_);
  Range range = like;
  range.bytes = RoundUp(bytes);
  if (range.bytes < bytes) return kOutOfMemory;
  const bool is_charged = range.kind != Kind::kHost && range.kind != Kind::kImported;
  if (range.kind == Kind::kPool) {
    Pool& pool = pools_[range.pool];
    const size_t spare = pool.reserved_bytes - pool.used_bytes;
    const size_t missing = range.bytes > spare ? range.bytes - spare : 0;
    if (!Charge(range.device, missing)) return kOutOfMemory;
    pool.reserved_bytes += missing;
    pool.used_bytes += range.bytes;
  } else if (is_charged && !Charge(range.device, range.bytes)) {
    return kOutOfMemory;
  }
  void* pages = MapPages(range.bytes, PROT_READ | PROT_WRITE);
  if (pages == nullptr) return kOutOfMemory;
  *address = reinterpret_cast<uintptr_t>(pages);
  ranges_[*address] = range;
  return kSuccess;
}

void Memory::ReleaseRange(std::map<uintptr_t, Range>::iterator it) {
  const auto& [address, range] = *it;
  if (range.kind == Kind::kPool) {
    pools_[range.pool].used_bytes -= range.bytes;
  } else if (range.kind != Kind::kHost && range.kind != Kind::kImported) {
    used_bytes_[range.device] -= range.bytes;
  }
  UnmapPages(reinterpret_cast<void*>(address), range.bytes);
  ranges_.erase(it);
}

int Memory::Release(uintptr_t address, const Kind* kind) {
  if (address == 0) return kSuccess;
  const std::lock_guard lock(mutex_);
  if (kind != nullptr && *kind == Kind::kRegistered) {
    return registered_.erase(address) != 0 ? kSuccess : kNotRegistered;
  }
  const auto it = ranges_.find(address);
  if (it == ranges_.end() || (kind != nullptr && it->second.kind != *kind)) return kInvalidValue;
  ReleaseRange(it);
  return kSuccess;
}

int Memory::Register(uintptr_t address, const Range& range) {
  if (address == 0 || range.bytes == 0) return kInvalidValue;
  const std::lock_guard lock(mutex_);
  registered_[address] = range;
  return kSuccess;
}

void Memory::ReleaseContext(int device, uintptr_t context) {
  const std::lock_guard lock(mutex_);
  for (auto it = ranges_.begin(); it != ranges_.end();) {
    const auto next = std::next(it);
    if (it->second.device == device && it->second.context == context) ReleaseRange(it);
    it = next;
  }
}

bool Memory::Find(uintptr_t address, uintptr_t* start, Range* range) {
  const std::lock_guard lock(mutex_);
  for (const auto* table : {&ranges_, &registered_}) {
    auto it = table->upper_bound(address);
    if (it == table->begin()) continue;
    --it;
    if (address >= it->first + it->second.bytes) continue;
    *start = it->first;
    *range = it->second;
    return true;
  }
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin()) return false;
  --it;
  if (address >= it->first + it->second.bytes) return false;
  *start = it->first;
  *range = {it->second.bytes, Kind::kDevice, physical_[it->second.handle].device, 0, 0};
  return true;
}

uintptr_t Memory::DefaultPool(int device) {
  const std::lock_guard lock(mutex_);
  const uintptr_t pool = 0x10000 + static_cast<uintptr_t>(device) * 0x100;
  pools_[pool].device = device;
  return pool;
}

uintptr_t Memory::CreatePool(int device) {
  const std::lock_guard lock(mutex_);
  next_pool_ += 0x100;
  pools_[next_pool_].device = device;
  return next_pool_;
}

int Memory::DestroyPool(uintptr_t pool) {
  const std::lock_guard lock(mutex_);
  const auto it = pools_.find(pool);
  if (it == pools_.end()) return kInvalidValue;
  used_bytes_[it->second.device] -= it->second.reserved_bytes;
  pools_.erase(it);
  return kSuccess;
}

int Memory::TrimPool(uintptr_t pool, size_t keep_bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = pools_.find(pool);
  if (it == pools_.end()) return kInvalidValue;
  const size_t keep = keep_bytes > it->second.used_bytes ? keep_bytes : it->second.used_bytes;
  if (it->second.reserved_bytes > keep) {
    used_bytes_[it->second.device] -= it->second.reserved_bytes - keep;
    it->second.reserved_bytes = keep;
  }
  return kSuccess;
}

bool Memory::FindPool(uintptr_t pool, Pool* state) {
  const std::lock_guard lock(mutex_);
  const auto it = pools_.find(pool);
  if (it == pools_.end()) return false;
  *state = it->second;
  return true;
}

int Memory::Create(uint64_t* handle, size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes % (size_t{2} << 20) != 0) return kInvalidValue;
  if (!Charge(device, bytes)) return kOutOfMemory;
  *handle = next_handle_++;
  physical_[*handle] = {bytes, device, 1, 0};
  return kSuccess;
}

void Memory::Settle(uint64_t handle) {
  const Physical& memory = physical_[handle];
  if (memory.references > 0 || memory.mappings > 0) return;
  used_bytes_[memory.device] -= memory.bytes;
  physical_.erase(handle);
}

int Memory::AddReference(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = physical_.find(handle);
  if (it == physical_.end()) return kInvalidValue;
  ++it->second.references;
  return kSuccess;
}

int Memory::DropReference(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = physical_.find(handle);
  if (it == physical_.end() || it->second.references == 0) return kInvalidValue;
  --it->second.references;
  Settle(handle);
  return kSuccess;
}

int Memory::Map(uintptr_t address, size_t bytes, uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = physical_.find(handle);
  if (it == physical_.end() || bytes == 0) return kInvalidValue;
  if (mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) != 0) return kInvalidValue;
  ++it->second.mappings;
  mappings_[address] = {bytes, handle};
  return kSuccess;
}

// May cover several mappings, but only whole ones.
int Memory::Unmap(uintptr_t address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto it = mappings_.find(address);
  if (it == mappings_.end()) return kInvalidValue;
  while (it != mappings_.end() && it->first + it->second.bytes <= address + bytes) {
    const uint64_t handle = it->second.handle;
    mprotect(reinterpret_cast<void*>(it->first), it->second.bytes, PROT_NONE);
    it = mappings_.erase(it);
    --physical_[handle].mappings;
    Settle(handle);
  }
  return kSuccess;
}

bool Memory::FindMapping(uintptr_t address, uint64_t* handle) {
  const std::lock_guard lock(mutex_);
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin()) return false;
  --it;
  if (address >= it->first + it->second.bytes) return false;
  *handle = it->second.handle;
  return true;
}

}  // namespace nulldevice
