#include "preload/unwind/loaded_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/base/clock.h"
#include "preload/base/mapped_code.h"
#include "preload/base/module_walk.h"
#include "preload/base/old_glibc.h"
#include "preload/base/raw_memory.h"
#include "preload/base/system_call.h"

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

// Objects as they were at one moment, and those that were found since. Two of them take turns, so a reader that was
// stopped for long may see one being filled anew: its version tells.
struct Snapshot {
  std::atomic<uint32_t> version{0};  // odd while it is being filled
  std::atomic<uint32_t> count{0};
  LoadedObject objects[kMaxSnapshotObjects];
};

constinit std::atomic<FindObjectFunction> find_object{nullptr};
constinit std::atomic<const struct link_map*> main_program{nullptr};
constinit std::atomic<Snapshot*> snapshot{nullptr};
constinit Snapshot* spare_snapshot = nullptr;  // belongs to the writer
constinit std::atomic<bool> has_writer{false};
// The loader's counts of loaded and unloaded objects when the snapshot was taken.
constinit unsigned long long known_adds = 0, known_subs = 0;

// Copies an object that another thread may be writing; the snapshot's version tells whether the copy is sound.
void CopyObject(const LoadedObject& from, LoadedObject* to) {
  static_assert(sizeof(LoadedObject) % sizeof(uint64_t) == 0);
  const auto* source = reinterpret_cast<const uint64_t*>(&from);
  auto* target = reinterpret_cast<uint64_t*>(to);
  for (size_t i = 0; i < sizeof(LoadedObject) / sizeof(uint64_t); ++i) {
    const uint64_t word = __atomic_load_n(source + i, __ATOMIC_RELAXED);
    __atomic_store_n(target + i, word, __ATOMIC_RELAXED);
  }
}

bool Append(Snapshot* to, const LoadedObject& object) {
  const uint32_t count = to->count.load(std::memory_order_relaxed);
  if (count == kMaxSnapshotObjects) return false;
  CopyObject(object, &to->objects[count]);
  to->count.store(count + 1, std::memory_order_release);
  return true;
}

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

void FindUnwindTable(LoadedObject* object) {
  const auto* segments = static_cast<const ElfW(Phdr)*>(object->segments);
  for (size_t i = 0; i < object->segment_count; ++i) {
    if (segments[i].p_type != PT_GNU_EH_FRAME) continue;
    object->eh_frame_hdr = reinterpret_cast<const uint8_t*>(object->load_bias + segments[i].p_vaddr);
  }
}

// One pass over the loader's objects.
struct Taking {
  Snapshot* to;
  bool is_first = true;
};

int AddToSnapshot(struct dl_phdr_info* info, size_t size, void* data) {
  auto* taking = static_cast<Taking*>(data);
  const bool has_counts = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs);
  if (has_counts && taking->is_first) {
    taking->is_first = false;
    const bool is_unchanged = snapshot.load(std::memory_order_relaxed) != nullptr &&
                              info->dlpi_adds == known_adds && info->dlpi_subs == known_subs;
    if (is_unchanged) return 1;
    known_adds = info->dlpi_adds;
    known_subs = info->dlpi_subs;
  }
  LoadedObject object;
  object.load_bias = info->dlpi_addr;
  object.path = info->dlpi_name;
  object.identity = info->dlpi_phdr;
  object.segments = info->dlpi_phdr;
  object.segment_count = info->dlpi_phnum;
  SpanSegments(&object);
  FindUnwindTable(&object);
  if (object.end == 0) return 0;
  return Append(taking->to, object) ? 0 : 1;
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

bool FindInSnapshot(uintptr_t address, LoadedObject* object) {
  constexpr int kAttempts = 3;  // a second one only when two refreshes came in between
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Snapshot* current = snapshot.load(std::memory_order_acquire);
    if (current == nullptr) return false;
    const uint32_t version = current->version.load(std::memory_order_acquire);
    const uint32_t count = current->count.load(std::memory_order_acquire);
    bool is_found = false;
    for (uint32_t i = 0; i < count && !is_found; ++i) {
      CopyObject(current->objects[i], object);
      is_found = address >= object->begin && address < object->end;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version % 2 == 0 && current->version.load(std::memory_order_relaxed) == version) return is_found;
  }
  return false;
}

// Ranges in which no library was found, so that code which a program generates is not looked up at every step.
class BarrenRanges {
 public:
  bool Has(uintptr_t address) const {
    const uint64_t now = Now();
    for (const Range& range : ranges_) {
      if (address >= range.begin.load(std::memory_order_relaxed) &&
          address < range.end.load(std::memory_order_relaxed) &&
          now < range.until.load(std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void Add(uintptr_t begin, uintptr_t end) {
    constexpr uint64_t kMilliseconds = 1000;
    Range& range = ranges_[next_.fetch_add(1, std::memory_order_relaxed) % kRanges];
    range.until.store(0, std::memory_order_relaxed);
    range.begin.store(begin, std::memory_order_relaxed);
    range.end.store(end, std::memory_order_relaxed);
    range.until.store(Now() + TicksOfMs(kMilliseconds), std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kRanges = 16;
  struct Range {
    std::atomic<uintptr_t> begin{0}, end{0};
    std::atomic<uint64_t> until{0};
  };
  Range ranges_[kRanges];
  std::atomic<unsigned> next_{0};
};
constinit BarrenRanges barren;

// Paths of objects that were found since the last snapshot. They are used at once, when the module is defined, so the
// oldest may be overwritten.
const char* KeepPath(const char* path) {
  constexpr size_t kBytes = 256 << 10;
  static constinit char* storage = nullptr;
  static constinit size_t used = 0;
  if (storage == nullptr) storage = static_cast<char*>(MapZeroed(kBytes));
  if (storage == nullptr) return "";
  const size_t bytes = std::strlen(path) + 1;
  if (used + bytes > kBytes) used = 0;
  char* kept = storage + used;
  std::memcpy(kept, path, bytes);
  used += bytes;
  return kept;
}

// The object whose file begins at `found.file_begin`. Its code is on the stack of this thread, so it stays loaded.
bool DescribeMapped(const MappedCode& found, uintptr_t address, LoadedObject* object) {
  *object = LoadedObject{};
  if (!UseHeaderAt(found.file_begin, object)) return false;
  const auto* segments = static_cast<const ElfW(Phdr)*>(object->segments);
  bool has_first = false;
  for (size_t i = 0; i < object->segment_count && !has_first; ++i) {
    if (segments[i].p_type != PT_LOAD || (segments[i].p_offset & ~(kPageBytes - 1)) != 0) continue;
    object->load_bias = found.file_begin - (segments[i].p_vaddr & ~(kPageBytes - 1));
    has_first = true;
  }
  if (!has_first) return false;
  object->identity = object->segments;  // what the loader has, too
  SpanSegments(object);
  FindUnwindTable(object);
  if (address < object->begin || address >= object->end) return false;
  object->path = KeepPath(found.path);
  return true;
}

// An object that was loaded after the snapshot was taken. The kernel is asked, because the loader would take its lock,
// which this thread may hold already or which may wait for this one.
bool FindNewObject(uintptr_t address, LoadedObject* object) {
  static constinit MappedCode found;  // belongs to the writer
  if (barren.Has(address)) return false;
  if (has_writer.exchange(true, std::memory_order_acquire)) return false;  // the next walk asks again
  bool is_found = FindInSnapshot(address, object);                         // another thread was first
  if (!is_found && FindMappedCode(address, &found)) {
    is_found = found.file_begin != 0 && DescribeMapped(found, address, object);
    Snapshot* current = snapshot.load(std::memory_order_relaxed);
    if (is_found && current != nullptr) {
      Append(current, *object);
    } else if (!is_found && found.end != 0) {
      barren.Add(found.begin, found.end);
    } else if (!is_found) {
      barren.Add(address & ~(kPageBytes - 1), (address | (kPageBytes - 1)) + 1);
    }
  }
  has_writer.store(false, std::memory_order_release);
  return is_found;
}

// False when the other writer did not come to an end in time.
bool BecomeWriter() {
  constexpr int kYields = 10'000;  // another writer reads one file of the kernel
  for (int i = 0; i < kYields; ++i) {
    if (!has_writer.exchange(true, std::memory_order_acquire)) return true;
    sys::Yield();
  }
  return false;
}

}  // namespace

void PrepareObjectLookup() {
#if defined(__x86_64__) || defined(__aarch64__)
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
  if (find_object.load(std::memory_order_acquire) != nullptr || !BecomeWriter()) return;
  if (spare_snapshot == nullptr) spare_snapshot = static_cast<Snapshot*>(MapZeroed(sizeof(Snapshot)));
  if (Snapshot* next = spare_snapshot; next != nullptr) {
    next->version.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    next->count.store(0, std::memory_order_relaxed);
    Taking taking{next};
    WalkModules(AddToSnapshot, &taking);
    next->version.fetch_add(1, std::memory_order_release);
    const bool has_changed = next->count.load(std::memory_order_relaxed) != 0;
    if (has_changed) spare_snapshot = snapshot.exchange(next, std::memory_order_acq_rel);
  }
  has_writer.store(false, std::memory_order_release);
}

void ReleaseObjectLookupAfterFork() { has_writer.store(false, std::memory_order_release); }

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
  return FindInSnapshot(address, object) || FindNewObject(address, object);
}

bool FindKnownObject(uintptr_t address, LoadedObject* object) {
  const bool has_snapshots = find_object.load(std::memory_order_relaxed) == nullptr;
  return has_snapshots ? FindInSnapshot(address, object) : FindLoadedObject(address, object);
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
