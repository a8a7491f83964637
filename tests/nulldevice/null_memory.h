// The memory of the null device: host pages behind device addresses, with a limit per device.
//
// All a test needs to know about device memory happens here: what is live, in which context, what a pool
// holds, which physical handle is mapped where. Contents are host memory (zero-filled on allocation), so
// copies work. Thread-safe: one mutex. Never destroyed: libraries unload in any order at exit.
#ifndef PLATEAU_TESTS_NULLDEVICE_NULL_MEMORY_H_
#define PLATEAU_TESTS_NULLDEVICE_NULL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace nulldevice {

// Results, as the CUDA driver numbers them.
enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNotFound = 500,
  kNotRegistered = 713,
};

enum class Kind { kDevice, kHost, kManaged, kPool, kArray, kRegistered, kImported };

struct Range {
  size_t bytes = 0;
  Kind kind = Kind::kDevice;
  int device = 0;
  uintptr_t context = 0;
  uintptr_t pool = 0;
};

struct Pool {
  int device = 0;
  size_t reserved_bytes = 0;
  size_t used_bytes = 0;
};

// Physical memory of the virtual memory management calls: alive while a handle or a mapping refers to it.
struct Physical {
  size_t bytes = 0;
  int device = 0;
  int references = 0;
  int mappings = 0;
};

class Memory {
 public:
  static Memory& Get();

  int Allocate(uintptr_t* address, size_t bytes, const Range& like);
  // `kind` null: whatever is there. Pool memory goes back to its pool.
  int Release(uintptr_t address, const Kind* kind);
  int Register(uintptr_t address, const Range& range);
  void ReleaseContext(int device, uintptr_t context);
  bool Find(uintptr_t address, uintptr_t* start, Range* range);

  uintptr_t DefaultPool(int device);
  uintptr_t CreatePool(int device);
  int DestroyPool(uintptr_t pool);
  int TrimPool(uintptr_t pool, size_t keep_bytes);
  bool FindPool(uintptr_t pool, Pool* state);

  int Create(uint64_t* handle, size_t bytes, int device);
  int AddReference(uint64_t handle);
  int DropReference(uint64_t handle);
  int Map(uintptr_t address, size_t bytes, uint64_t handle);
  int Unmap(uintptr_t address, size_t bytes);
  bool FindMapping(uintptr_t address, uint64_t* handle);

  size_t FreeBytes(int device);

 private:
  struct Mapping {
    size_t bytes;
    uint64_t handle;
  };
  bool Charge(int device, size_t bytes);
  void Settle(uint64_t handle);
  void ReleaseRange(std::map<uintptr_t, Range>::iterator it);

  std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
  std::map<uintptr_t, Range> registered_;
  std::map<uintptr_t, Pool> pools_;
  std::map<uint64_t, Physical> physical_;
  std::map<uintptr_t, Mapping> mappings_;
  std::map<int, size_t> used_bytes_;
  uint64_t next_handle_ = 1;
  uintptr_t next_pool_ = 0x20000;
};

// Host pages behind device addresses, by system call: a device's memory is none of the host's, so a tracer
// that watches mmap() must not see it.
void* MapPages(size_t bytes, int protection);  // null when there are none
void UnmapPages(void* pages, size_t bytes);

// NULLDEVICE_DEVICES (1), NULLDEVICE_BYTES per device (16 GiB), NULLDEVICE_VERSION (13000), NULLDEVICE_LOG (a
// file), NULLDEVICE_STUBS (answer for names the driver does not have with a function that does nothing).
uint64_t Setting(const char* name, uint64_t default_value);

// One line to the log, if there is one.
__attribute__((format(printf, 1, 2))) void Log(const char* format, ...);

}  // namespace nulldevice

#endif  // PLATEAU_TESTS_NULLDEVICE_NULL_MEMORY_H_
