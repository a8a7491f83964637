#include "preload/unwind/loaded_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/unwind/raw_memory.h"

namespace plateau::unwind {
namespace {

// glibc's struct dl_find_object, named here so that older headers can compile this.
struct FoundObject {
  uint64_t flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  uint64_t reserved[12];
};
using FindObjectFunction = int (*)(void*, FoundObject*);

struct Snapshot {
  std::atomic<uint32_t> count{0};
  LoadedObject objects[kMaxSnapshotObjects];
};

constinit std::atomic<FindObjectFunction> find_object{nullptr};
constinit std::atomic<Snapshot*> snapshot{nullptr};
constinit std::atomic<bool> refreshing{false};

int AddToSnapshot(struct dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* to = static_cast<Snapshot*>(data);
  const uint32_t count = to->count.load(std::memory_order_relaxed);
  if (count == kMaxSnapshotObjects) return 1;
  LoadedObject object;
  object.begin = ~uintptr_t{0};
  object.load_bias = info->dlpi_addr;
  object.path = info->dlpi_name;
  object.identity = info->dlpi_phdr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) object.eh_frame_hdr = reinterpret_cast<const uint8_t*>(begin);
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t page_begin = begin & ~uintptr_t{4095};
    if (page_begin < object.begin) object.begin = page_begin;
    if (begin + segment.p_memsz > object.end) object.end = begin + segment.p_memsz;
  }
  if (object.end == 0) return 0;
  to->objects[count] = object;
  to->count.store(count + 1, std::memory_order_relaxed);
  return 0;
}

// The program headers as mapped, when the first segment begins with the ELF header (all common linkers see to
// it).
const ElfW(Phdr) * MappedHeaders(const LoadedObject& object, size_t* count) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(object.begin);
  *count = 0;
  if (object.end - object.begin < sizeof(*header)) return nullptr;
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  if (header->e_phentsize != sizeof(ElfW(Phdr))) return nullptr;
  if (header->e_phoff > 4096 || header->e_phoff + size_t{header->e_phnum} * sizeof(ElfW(Phdr)) > 4096) {
    return nullptr;  // not in the first page, the only one known to be mapped
  }
  *count = header->e_phnum;
  return reinterpret_cast<const ElfW(Phdr)*>(object.begin + header->e_phoff);
}

}  // namespace

void PrepareObjectLookup() {
#if defined(__x86_64__)
  find_object.store(reinterpret_cast<FindObjectFunction>(dlsym(RTLD_DEFAULT, "_dl_find_object")),
                    std::memory_order_release);
#endif
  RefreshObjectSnapshot();
}

void UseSnapshotsForTest(bool use_snapshots) {
  PrepareObjectLookup();
  if (use_snapshots) {
    find_object.store(nullptr, std::memory_order_release);
    RefreshObjectSnapshot();
  }
}

void RefreshObjectSnapshot() {
  if (find_object.load(std::memory_order_acquire) != nullptr) return;
  if (refreshing.exchange(true, std::memory_order_acquire)) return;  // the other thread's will do
  auto* next = static_cast<Snapshot*>(MapZeroed(sizeof(Snapshot)));
  if (next != nullptr) {
    dl_iterate_phdr(AddToSnapshot, next);
    // The old one may still be read by a look-up; it stays mapped, as address space only.
    Snapshot* old = snapshot.exchange(next, std::memory_order_acq_rel);
    if (old != nullptr) DropPages(old, sizeof(Snapshot));
  }
  refreshing.store(false, std::memory_order_release);
}

bool FindLoadedObject(uintptr_t address, LoadedObject* object) {
  const FindObjectFunction find = find_object.load(std::memory_order_relaxed);
  if (find != nullptr) [[likely]] {
    FoundObject found;
    if (find(reinterpret_cast<void*>(address), &found) != 0) return false;
    object->begin = reinterpret_cast<uintptr_t>(found.map_start);
    object->end = reinterpret_cast<uintptr_t>(found.map_end);
    object->load_bias = found.map->l_addr;
    object->eh_frame_hdr = static_cast<const uint8_t*>(found.eh_frame);
    object->path = found.map->l_name;
    object->identity = found.map;
    return true;
  }
  const Snapshot* current = snapshot.load(std::memory_order_acquire);
  if (current == nullptr) return false;
  const uint32_t count = current->count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const LoadedObject& candidate = current->objects[i];
    if (address >= candidate.begin && address < candidate.end) {
      *object = candidate;
      return object->end != 0;  // 0: the pages were dropped while we read
    }
  }
  return false;
}

ByteSpan ReadableAround(const LoadedObject& object, const uint8_t* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address < object.begin || address >= object.end) return {};
  size_t count = 0;
  const ElfW(Phdr)* segments = MappedHeaders(object, &count);
  if (segments == nullptr) {
    return {reinterpret_cast<const uint8_t*>(object.begin), reinterpret_cast<const uint8_t*>(object.end)};
  }
  for (size_t i = 0; i < count; ++i) {
    if (segments[i].p_type != PT_LOAD || (segments[i].p_flags & PF_R) == 0) continue;
    const uintptr_t begin = object.load_bias + segments[i].p_vaddr;
    if (address < begin || address - begin >= segments[i].p_memsz) continue;
    return {reinterpret_cast<const uint8_t*>(begin),
            reinterpret_cast<const uint8_t*>(begin + segments[i].p_memsz)};
  }
  return {};
}

ByteSpan BuildId(const LoadedObject& object) {
  constexpr size_t kMaxBuildIdBytes = 64;
  size_t count = 0;
  const ElfW(Phdr)* segments = MappedHeaders(object, &count);
  for (size_t i = 0; i < count; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const uint8_t*>(object.load_bias + segments[i].p_vaddr);
    const ByteSpan readable = ReadableAround(object, begin);
    if (!readable.Contains(begin) || segments[i].p_memsz > static_cast<size_t>(readable.end - begin))
      continue;
    ByteReader notes(begin, begin + segments[i].p_memsz);
    const uint64_t align = segments[i].p_align == 8 ? 8 : 4;
    while (notes.remaining() >= 12) {
      const uint32_t name_bytes = notes.Read<uint32_t>();
      const uint32_t value_bytes = notes.Read<uint32_t>();
      const uint32_t type = notes.Read<uint32_t>();
      const uint8_t* name = notes.position();
      notes.Skip((uint64_t{name_bytes} + align - 1) & ~(align - 1));
      const uint8_t* value = notes.position();
      notes.Skip(value_bytes);
      if (!notes.ok()) break;
      if (type == NT_GNU_BUILD_ID && name_bytes == 4 && std::memcmp(name, "GNU", 4) == 0 &&
          value_bytes <= kMaxBuildIdBytes) {
        return {value, value + value_bytes};
      }
      const uint64_t padding = (align - value_bytes % align) % align;
      notes.Skip(padding < notes.remaining() ? padding : notes.remaining());
    }
  }
  return {};
}

}  // namespace plateau::unwind
