#include "analyzer/device/device_memory_map.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {

bool DeviceMemoryMap::AddPhysical(uint64_t handle, int32_t device, bool is_graph_private) {
  const auto [it, is_new] = physical_.try_emplace(handle, Physical{device, is_graph_private, 1, 0});
  if (!is_new) ++it->second.references;
  return is_new;
}

void DeviceMemoryMap::Retain(uint64_t handle) {
  const auto it = physical_.find(handle);
  if (it != physical_.end()) ++it->second.references;
}

void DeviceMemoryMap::Release(uint64_t handle) {
  const auto it = physical_.find(handle);
  if (it != physical_.end() && it->second.references > 0) --it->second.references;
}

void DeviceMemoryMap::Map(uint64_t address, uint64_t bytes, uint64_t handle) {
  MemoryRange range{bytes, -1, false, handle, false};
  const auto it = physical_.find(handle);
  if (it != physical_.end()) {
    ++it->second.mappings;
    range.device = it->second.device;
    range.is_graph_private = it->second.is_graph_private;
  }
  ranges_[address] = range;
}

std::vector<uint64_t> DeviceMemoryMap::Unmap(uint64_t address, uint64_t bytes) {
  std::vector<uint64_t> handles;
  auto it = ranges_.lower_bound(address);
  while (it != ranges_.end() && it->first - address < bytes) {
    if (it->second.handle == 0) {
      ++it;
      continue;
    }
    handles.push_back(it->second.handle);
    const auto physical = physical_.find(it->second.handle);
    if (physical != physical_.end() && physical->second.mappings > 0) --physical->second.mappings;
    it = ranges_.erase(it);
  }
  return handles;
}

bool DeviceMemoryMap::RemoveIfUnused(uint64_t handle) {
  const auto it = physical_.find(handle);
  if (it == physical_.end() || it->second.references > 0 || it->second.mappings > 0) return false;
  physical_.erase(it);
  return true;
}

std::vector<uint64_t> DeviceMemoryMap::RemoveDevice(int32_t device) {
  std::vector<uint64_t> handles;
  std::erase_if(ranges_, [device](const auto& entry) {
    return entry.second.device == device && entry.second.handle != 0;
  });
  std::erase_if(physical_, [&](const auto& entry) {
    if (entry.second.device != device) return false;
    handles.push_back(entry.first);
    return true;
  });
  return handles;
}

const MemoryRange* DeviceMemoryMap::FindForTensor(uint64_t address) {
  auto it = ranges_.upper_bound(address);
  if (it == ranges_.begin()) return nullptr;
  --it;
  if (address - it->first >= it->second.bytes) return nullptr;
  it->second.has_held_tensors = true;
  return &it->second;
}

DeviceMemoryMap::Holes DeviceMemoryMap::FindHoles(
    int32_t device, const std::vector<std::pair<uint64_t, uint64_t>>& blocks) const {
  Holes holes;
  auto block = blocks.begin();
  auto it = ranges_.begin();
  while (it != ranges_.end()) {
    if (it->second.device != device) {
      ++it;
      continue;
    }
    // Mappings that touch are one piece; segments obtained whole stand alone.
    const uint64_t start = it->first;
    uint64_t end = start + it->second.bytes;
    const bool is_mapped = it->second.handle != 0;
    bool is_torchs = it->second.has_held_tensors;
    ++it;
    while (is_mapped && it != ranges_.end() && it->first == end && it->second.handle != 0 &&
           it->second.device == device) {
      end += it->second.bytes;
      is_torchs = is_torchs || it->second.has_held_tensors;
      ++it;
    }
    while (block != blocks.end() && block->first < start) ++block;
    if (!is_torchs) continue;
    uint64_t free_from = start;
    const auto add_hole = [&](uint64_t until) {
      if (until <= free_from) return;
      holes.total_bytes += until - free_from;
      holes.largest_bytes = std::max(holes.largest_bytes, until - free_from);
    };
    for (; block != blocks.end() && block->first < end; ++block) {
      add_hole(block->first);
      free_from = std::max(free_from, block->first + block->second);
    }
    add_hole(end);
  }
  return holes;
}

}  // namespace plateau::replay
