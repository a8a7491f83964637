// Which device addresses have memory behind them: segments obtained whole, and VMM ranges with physical
// memory mapped.
//
//   cudaMalloc      |====== segment ======|            |=== segment ===|
//   VMM             |-- reserved: |== map ==|== map ==|             ---|
//   tensors           |##|  |####|    |##########|
//
// A block may span several mappings that touch. Physical memory is alive while a reference or a mapping holds
// it; this map counts both and says when the last is gone.
//
// Memory: live ranges and handles. Not thread-safe.
#ifndef PLATEAU_ANALYZER_DEVICE_DEVICE_MEMORY_MAP_H_
#define PLATEAU_ANALYZER_DEVICE_DEVICE_MEMORY_MAP_H_

#include <cstdint>
#include <map>
#include <vector>

namespace plateau::replay {

struct MemoryRange {
  uint64_t bytes = 0;
  int32_t device = -1;
  bool is_graph_private = false;
  uint64_t handle = 0;            // of the physical memory; 0 for a segment obtained whole
  bool has_held_tensors = false;  // so it is torch's, also while it is empty
};

class DeviceMemoryMap {
 public:
  // ---- Segments ----
  void AddSegment(uint64_t address, const MemoryRange& segment) { ranges_[address] = segment; }
  void RemoveSegment(uint64_t address) { ranges_.erase(address); }

  // ---- Physical memory ----
  // False if the handle is known already: then it has one reference more.
  bool AddPhysical(uint64_t handle, int32_t device, bool is_graph_private);
  void Retain(uint64_t handle);
  void Release(uint64_t handle);
  void Map(uint64_t address, uint64_t bytes, uint64_t handle);
  // Ends the mappings that lie in the range; the handles that lost one, each as often.
  std::vector<uint64_t> Unmap(uint64_t address, uint64_t bytes);
  // True, and the handle is forgotten, if neither reference nor mapping is left.
  bool RemoveIfUnused(uint64_t handle);
  // Ends all physical memory of a device; its handles.
  std::vector<uint64_t> RemoveDevice(int32_t device);

  // The range that holds `address`, null if none does. A tensor there makes it torch's.
  const MemoryRange* FindForTensor(uint64_t address);

  struct Holes {
    uint64_t total_bytes = 0;
    uint64_t largest_bytes = 0;
  };
  // What `blocks` (address and bytes, of one device, ascending) leave free inside torch's ranges.
  Holes FindHoles(int32_t device, const std::vector<std::pair<uint64_t, uint64_t>>& blocks) const;

 private:
  struct Physical {
    int32_t device = -1;
    bool is_graph_private = false;
    uint32_t references = 1;
    uint32_t mappings = 0;
  };
  std::map<uint64_t, MemoryRange> ranges_;
  std::map<uint64_t, Physical> physical_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_DEVICE_DEVICE_MEMORY_MAP_H_
