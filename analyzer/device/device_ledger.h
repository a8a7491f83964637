// What is on the devices: turns the device events of a trace into pools of objects that are born and die.
//
//   pool                  objects                                                            key
//   "pinned"              page-locked host memory (cudaHostAlloc, VMM memory on the host)     address, handle
//   "device N reserved"   what the driver has given away: cudaMalloc, managed, arrays,        address, handle
//                         stream-ordered memory, physical VMM memory
//   "device N tensors"    blocks of torch's caching allocator, inside segments of the above   address
//
// Pools overlap on purpose and are never added: tensors live in what is reserved. Host memory that was
// registered after malloc gave it, and memory of other owners (IPC, external), is in no pool; its bytes are
// kept apart.
//
// Rules, each with a test:
//   match      a free ends whatever lives at its address, whichever family obtained it. A free of nothing is
//   counted.
//              An allocation at a live address ends the old object first (its free was lost) and is counted.
//   VMM        physical memory lives from its creation until the last reference *and* the last mapping are
//   gone. reset      the end of a context ends its objects; the end of a device's primary context, all of the
//   device. graphs     what is obtained during a capture is the graph's own, and so are tensors inside such
//   segments: they keep
//              their memory for the graph's life and say nothing about leaks.
//   check      torch tells its own totals with each block; a difference that changes is counted as a
//   mismatch.
//
// Memory: live objects. Not thread-safe. Feed records in time order.
#ifndef PLATEAU_ANALYZER_DEVICE_DEVICE_LEDGER_H_
#define PLATEAU_ANALYZER_DEVICE_DEVICE_LEDGER_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/device/device_memory_map.h"
#include "preload/trace/record.h"

namespace plateau::replay {

struct DevicePool {
  enum class Kind : uint8_t { kPinned, kReserved, kTensors };
  Kind kind = Kind::kPinned;
  int32_t device = -1;  // -1 for pinned, and where the trace does not know

  auto operator<=>(const DevicePool&) const = default;
};

// "pinned", "device 0 reserved", "device 0 tensors"; "device ? reserved" when unknown.
std::string DevicePoolName(DevicePool pool);

struct DeviceObject {
  DevicePool pool;
  int32_t device = -1;  // also of pinned memory: whose context it belongs to
  uint64_t key = 0;     // address, or handle of VMM memory
  uint64_t bytes = 0;
  uint32_t stack = 0;
  uint64_t birth_time = 0;    // as given to Apply()
  uint32_t birth_bucket = 0;  // as given to Apply()
  uint64_t context = 0;
  // Obtained from the driver without a runtime we see around it: a library that carries its own runtime
  // (cuBLAS, cuDNN, NCCL), torch's expandable segments, or a program that uses the driver's functions.
  bool is_from_driver = false;
  bool is_graph_private = false;
  // Reserved memory that torch's caching allocator took: it is kept for reuse, so that it stays is no leak.
  // What torch holds beyond its tensors is fragmentation or a cache; see DeviceState.
  bool is_torch_segment = false;
};

// Told of every object. `bucket` is the one of the event that ended the object. A reserved object is told of
// a little late, with the next event that can show whose it is: a tensor inside it makes it torch's.
class DevicePoolListener {
 public:
  virtual ~DevicePoolListener() = default;
  virtual void OnBorn(const DeviceObject& object) = 0;
  virtual void OnDied(const DeviceObject& object, uint32_t bucket) = 0;
};

struct DevicePoolLevel {
  uint64_t live_bytes = 0;
  uint64_t live_count = 0;
  uint64_t peak_bytes = 0;
  uint64_t alloc_bytes = 0;
  uint64_t alloc_count = 0;
  uint64_t free_count = 0;
  uint64_t graph_private_bytes = 0;  // of the live ones
};

// One device at one moment. reserved = tensors + free inside torch's segments + what other libraries hold.
struct DeviceState {
  uint64_t reserved_bytes = 0;
  uint64_t tensor_bytes = 0;
  uint64_t torch_reserved_bytes = 0;  // as torch says; 0 if it says nothing
  uint64_t free_in_segments_bytes = 0;
  uint64_t largest_free_bytes = 0;   // the largest hole in one piece
  uint64_t pool_reserved_bytes = 0;  // of stream-ordered pools, as last polled
  uint64_t pool_used_bytes = 0;
  uint64_t address_space_bytes = 0;  // reserved addresses, no memory behind them
  uint64_t limit_bytes = 0;          // memory of the device, as the driver said with its last refusal
  uint64_t driver_used_bytes = 0;    // of it in use at that moment, by all processes
  double fragmentation() const;      // 1 - largest hole / all holes; 0 without holes
};

// A request that was refused, with the state of its device at that moment.
struct DeviceOutOfMemory {
  uint64_t time = 0;
  uint32_t bucket = 0;
  int32_t device = -1;
  uint8_t level = 0;  // trace::DeviceLevel
  uint64_t bytes = 0;
  uint32_t stack = 0;
  std::string api;
  DeviceState state;
};

// torch's totals against ours, per device.
struct TorchCheck {
  uint64_t compared = 0;
  uint64_t mismatches = 0;       // times the difference changed
  int64_t first_difference = 0;  // torch minus ours at the first block: what was there before the trace began
  int64_t last_difference = 0;
  uint64_t blocks_outside_segments = 0;
  uint64_t reserved_exceeded = 0;  // times torch claimed more reserved bytes than the driver level shows
};

class DeviceLedger {
 public:
  // `listener` may be null; not owned.
  explicit DeviceLedger(DevicePoolListener* listener) : listener_(listener) {}

  void Apply(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);

  // Tells the listener what it has not been told yet. Call after the last record.
  void Finish();

  const std::map<DevicePool, DevicePoolLevel>& pools() const { return pools_; }
  std::vector<int32_t> devices() const;
  // Costs a walk over the device's segments and blocks.
  DeviceState StateOf(int32_t device) const;
  const TorchCheck* CheckOf(int32_t device) const;

  // The first kKeptOutOfMemory refusals; out_of_memory_count() has all.
  static constexpr size_t kKeptOutOfMemory = 64;
  const std::vector<DeviceOutOfMemory>& out_of_memory() const { return out_of_memory_; }
  uint64_t out_of_memory_count() const { return out_of_memory_count_; }

  uint64_t registered_bytes() const { return registered_bytes_; }
  uint64_t imported_bytes() const { return imported_bytes_; }
  uint64_t captures() const { return captures_; }
  uint64_t unknown_frees() const { return unknown_frees_; }
  uint64_t lost_frees() const { return lost_frees_; }
  uint64_t unknown_ops() const { return unknown_ops_; }

 private:
  struct AsyncPool {
    int32_t device = -1;
    uint64_t reserved_bytes = 0;
    uint64_t used_bytes = 0;
  };
  // Memory that is in no pool.
  struct Apart {
    uint64_t bytes = 0;
    uint32_t references = 0;
    bool is_imported = false;
  };
  using Objects = std::map<uint64_t, DeviceObject>;

  void Alloc(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);
  void Free(const trace::DeviceRecord& record, uint32_t bucket);
  void AllocTensor(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);
  void FreeTensor(const trace::DeviceRecord& record, uint32_t bucket);
  void CheckTorch(const trace::DeviceRecord& record);
  void Create(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);
  void Unmap(const trace::DeviceRecord& record, uint32_t bucket);
  void Settle(uint64_t handle, uint32_t bucket);
  void Reset(const trace::DeviceRecord& record, uint32_t bucket);
  void Refuse(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);

  void AllocApart(const trace::DeviceRecord& record, bool is_imported);
  bool FreeApart(uint64_t address, bool is_imported);

  DeviceObject Make(const trace::DeviceRecord& record, DevicePool pool, uint64_t key, uint64_t time,
                    uint32_t bucket) const;
  void Born(Objects& objects, const DeviceObject& object, uint32_t bucket);
  void MarkTorchs(const trace::DeviceRecord& tensor);
  void Died(Objects& objects, Objects::iterator it, uint32_t bucket);

  // Reserved objects the listener has not been told of, oldest first, and the addresses they are known by.
  struct Pending {
    DeviceObject object;
    uint64_t address = 0;  // 0: VMM memory that is not mapped yet
  };

  DevicePoolListener* listener_;
  std::map<DevicePool, DevicePoolLevel> pools_;
  std::vector<Pending> pending_;
  uint32_t bucket_ = 0;

  Objects linear_;    // by address: everything that is not an array
  Objects arrays_;    // by array handle
  Objects physical_;  // by VMM handle
  std::map<int32_t, Objects> tensors_;
  DeviceMemoryMap memory_map_;
  std::map<uint64_t, uint64_t> address_space_;  // reserved ranges: address, bytes
  std::map<uint64_t, AsyncPool> async_pools_;
  std::map<uint64_t, Apart> registered_;
  std::map<uint64_t, Apart> imported_;
  std::map<int32_t, TorchCheck> checks_;
  std::map<int32_t, uint64_t> torch_reserved_bytes_;
  struct Capacity {
    uint64_t limit_bytes = 0;
    uint64_t used_bytes = 0;
  };
  std::map<int32_t, Capacity> capacities_;  // by device, of those that refused a request

  std::vector<DeviceOutOfMemory> out_of_memory_;
  uint64_t out_of_memory_count_ = 0;
  uint64_t registered_bytes_ = 0;
  uint64_t imported_bytes_ = 0;
  uint64_t captures_ = 0;
  uint64_t unknown_frees_ = 0;
  uint64_t lost_frees_ = 0;
  uint64_t unknown_ops_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_DEVICE_DEVICE_LEDGER_H_
