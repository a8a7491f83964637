#include "preload/unwind/loaded_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/base/old_glibc.h"
#include "preload/base/raw_memory.h"

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
constinit std::atomic<const struct link_map*> main_program{nullptr};
constinit std::atomic<Snapshot*> snapshot{nullptr};
constinit std::atomic<bool> refreshing{false};

// Sets begin and end to what the PT_LOAD segments span. The loader tells them segment by segment when there
// are holes between them, as in many main programs.
void SpanSegments(LoadedObject* object) {
  const auto* segments = static_cast<const ElfW(Phdr)*>(object->segments);
  uintptr_t begin = ~uintptr_t{0};
  uintptr_t end = 0;
  for (size_t i = 0; i < object->segment_count; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    const uintptr_t segment_begin = object->load_bias + segments[i].p_vaddr;
    const uintptr_t segment_end = segment_begin + segments[i].p_memsz;
    if ((segment_begin & ~(kPageBytes - 1)) < begin) begin = segment_begin & ~(kPageBytes - 1);
    if (segment_end > end) end = segment_end;
  }
  if (end == 0) return;
  object->begin = begin;
  object->end = end;
}

int AddToSnapshot(struct dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* to = static_cast<Snapshot*>(data);
  const uint32_t count = to->count.load(std::memory_order_relaxed);
  if (count == kMaxSnapshotObjects) return 1;
  LoadedObject object;
  object.load_bias = info->dlpi_addr;
  object.path = info->dlpi_name;
  object.identity = info->dlpi_phdr;
  object.segments = info->dlpi_phdr;
  object.segment_count = info->dlpi_phnum;
  SpanSegments(&object);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME) continue;
    object.eh_frame_hdr = reinterpret_cast<const uint8_t*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  }
  if (object.end == 0) return 0;
  to->objects[count] = object;
  to->count.store(count + 1, std::memory_order_relaxed);
  return 0;
}

// The program headers behind an ELF header at `begin`, a mapped address. False when there is no header, or
// they are not in its page, the only one known to be mapped.
bool UseHeaderAt(uintptr_t begin, LoadedObject* object) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  if (begin % kPageBytes != 0 || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_phentsize != sizeof(ElfW(Phdr))) return false;
  if (header->e_phoff > kPageBytes ||
      header->e_phoff + size_t{header->e_phnum} * sizeof(ElfW(Phdr)) > kPageBytes) {
    return false;
  }
  object->segments = reinterpret_cast<const void*>(begin + header->e_phoff);
  object->segment_count = header->e_phnum;
  return true;
}

// Finds the program headers of `object`, whose `begin` and `end` are those of the segment that was asked for.
void FindSegments(FindObjectFunction find, const struct link_map* map, LoadedObject* object) {
  FoundObject at_bias;
  if (map == main_program.load(std::memory_order_relaxed)) {
    object->segments = reinterpret_cast<const void*>(getauxval(AT_PHDR));
    object->segment_count = getauxval(AT_PHNUM);
  } else if (!UseHeaderAt(object->begin, object)) {
    // Not the first segment: look where the ELF header of a shared object is, if that is the same object.
    if (find(reinterpret_cast<void*>(object->load_bias), &at_bias) != 0 || at_bias.map != map) return;
    if (!UseHeaderAt(object->load_bias, object)) return;
  }
  SpanSegments(object);
}

}  // namespace

void PrepareObjectLookup() {
#if defined(__x86_64__)
  const auto find = reinterpret_cast<FindObjectFunction>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  FoundObject program;
  if (find != nullptr && find(reinterpret_cast<void*>(getauxval(AT_PHDR)), &program) == 0) {
    main_program.store(program.map, std::memory_order_release);
  }
  find_object.store(find, std::memory_order_release);
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
    object->segments = nullptr;
    object->segment_count = 0;
    FindSegments(find, found.map, object);
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
  const auto* segments = static_cast<const ElfW(Phdr)*>(object.segments);
  const size_t count = object.segment_count;
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
  const auto* segments = static_cast<const ElfW(Phdr)*>(object.segments);
  const size_t count = object.segment_count;
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
