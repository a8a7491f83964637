#include "analyzer/device/device_ledger.h"

#include <algorithm>
#include <set>
#include <utility>

#include "preload/trace/device_codes.h"

namespace plateau::replay {

using trace::DeviceLevel;
using trace::DeviceMemory;
using trace::DeviceOp;

namespace {
DeviceMemory MemoryOf(const trace::DeviceRecord& record) { return static_cast<DeviceMemory>(record.memory); }
}  // namespace

std::string DevicePoolName(DevicePool pool) {
  if (pool.kind == DevicePool::Kind::kPinned) return "pinned";
  const std::string number = pool.device < 0 ? "?" : std::to_string(pool.device);
  return "device " + number + (pool.kind == DevicePool::Kind::kReserved ? " reserved" : " tensors");
}

double DeviceState::fragmentation() const {
  if (free_in_segments_bytes == 0) return 0;
  return 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_in_segments_bytes);
}

void DeviceLedger::Apply(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  if (bucket != bucket_) Finish();
  bucket_ = bucket;
  const bool is_tensor = static_cast<DeviceLevel>(record.level) == DeviceLevel::kTensor;
  switch (static_cast<DeviceOp>(record.op)) {
    case DeviceOp::kAlloc:
      return is_tensor ? AllocTensor(record, time, bucket) : Alloc(record, time, bucket);
    case DeviceOp::kFree:
      return is_tensor ? FreeTensor(record, bucket) : Free(record, bucket);
    case DeviceOp::kOutOfMemory:
      return Refuse(record, time, bucket);
    case DeviceOp::kReserve:
      address_space_[record.address] = record.bytes;
      return;
    case DeviceOp::kUnreserve:
      address_space_.erase(record.address);
      return;
    case DeviceOp::kCreate:
      return Create(record, time, bucket);
    case DeviceOp::kRelease:
      memory_map_.Release(record.handle);
      return Settle(record.handle, bucket);
    case DeviceOp::kRetain:
      return memory_map_.Retain(record.handle);
    case DeviceOp::kMap:
      for (Pending& pending : pending_) {
        if (pending.address == 0 && pending.object.key == record.handle) pending.address = record.address;
      }
      return memory_map_.Map(record.address, record.bytes, record.handle);
    case DeviceOp::kUnmap:
      return Unmap(record, bucket);
    case DeviceOp::kReset:
      return Reset(record, bucket);
    case DeviceOp::kCapture:
      captures_ += record.bytes;
      return;
    case DeviceOp::kPool: {
      AsyncPool& pool = async_pools_[record.handle];
      if (record.device >= 0) pool.device = record.device;
      pool.reserved_bytes = record.bytes;
      pool.used_bytes = record.total_bytes;
      return;
    }
    default:
      ++unknown_ops_;
  }
}

// ---- Objects ----

DeviceObject DeviceLedger::Make(const trace::DeviceRecord& record, DevicePool pool, uint64_t key,
                                uint64_t time, uint32_t bucket) const {
  DeviceObject object;
  object.pool = pool;
  object.device = record.device;
  object.key = key;
  object.bytes = record.bytes;
  object.stack = record.stack;
  object.birth_time = time;
  object.birth_bucket = bucket;
  object.context = record.handle;
  object.is_from_driver = static_cast<DeviceLevel>(record.level) == DeviceLevel::kDriver;
  object.is_graph_private = record.graph;
  return object;
}

void DeviceLedger::Born(Objects& objects, const DeviceObject& object, uint32_t bucket) {
  const auto old = objects.find(object.key);
  if (old != objects.end()) {
    ++lost_frees_;
    Died(objects, old, bucket);
  }
  objects[object.key] = object;
  DevicePoolLevel& level = pools_[object.pool];
  level.live_bytes += object.bytes;
  level.peak_bytes = std::max(level.peak_bytes, level.live_bytes);
  level.alloc_bytes += object.bytes;
  ++level.live_count;
  ++level.alloc_count;
  if (object.is_graph_private) level.graph_private_bytes += object.bytes;
  if (listener_ == nullptr) return;
  if (object.pool.kind == DevicePool::Kind::kReserved) {
    pending_.push_back({object, &objects == &linear_ ? object.key : 0});
  } else {
    listener_->OnBorn(object);
  }
}

void DeviceLedger::Finish() {
  for (const Pending& pending : pending_) listener_->OnBorn(pending.object);
  pending_.clear();
}

// torch puts a block into a segment as soon as it has it, so what is pending on the block's device and holds
// it is torch's. Physical memory is mapped in between; several pieces may be mapped for one block.
void DeviceLedger::MarkTorchs(const trace::DeviceRecord& tensor) {
  if (pending_.empty()) return;
  std::vector<Pending> others;
  for (Pending& pending : pending_) {
    if (pending.object.device != tensor.device) {
      others.push_back(pending);
      continue;
    }
    const uint64_t start = pending.address;
    pending.object.is_torch_segment =
        start != 0 && start < tensor.address + tensor.bytes && tensor.address < start + pending.object.bytes;
    const auto objects = {&linear_, &physical_};
    for (Objects* table : objects) {
      const auto it = table->find(pending.object.key);
      const bool is_same = it != table->end() && it->second.birth_time == pending.object.birth_time;
      if (is_same) it->second.is_torch_segment = pending.object.is_torch_segment;
    }
    listener_->OnBorn(pending.object);
  }
  pending_ = std::move(others);
}

void DeviceLedger::Died(Objects& objects, Objects::iterator it, uint32_t bucket) {
  if (it->second.pool.kind == DevicePool::Kind::kReserved) Finish();  // nobody dies unborn
  const DeviceObject object = it->second;
  objects.erase(it);
  DevicePoolLevel& level = pools_[object.pool];
  level.live_bytes -= object.bytes;
  --level.live_count;
  ++level.free_count;
  if (object.is_graph_private) level.graph_private_bytes -= object.bytes;
  if (listener_ != nullptr) listener_->OnDied(object, bucket);
}

// ---- Runtime and driver ----

void DeviceLedger::Alloc(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  switch (MemoryOf(record)) {
    case DeviceMemory::kRegistered:
      return AllocApart(record, false);
    case DeviceMemory::kImported:
      return AllocApart(record, true);
    case DeviceMemory::kArray:
      return Born(arrays_,
                  Make(record, {DevicePool::Kind::kReserved, record.device}, record.address, time, bucket),
                  bucket);
    case DeviceMemory::kPinned:
      return Born(linear_, Make(record, {DevicePool::Kind::kPinned, -1}, record.address, time, bucket),
                  bucket);
    default:
      break;
  }
  Finish();  // the one before got no tensor
  Born(linear_, Make(record, {DevicePool::Kind::kReserved, record.device}, record.address, time, bucket),
       bucket);
  memory_map_.AddSegment(record.address, {record.bytes, record.device, record.graph, 0, false});
}

void DeviceLedger::Free(const trace::DeviceRecord& record, uint32_t bucket) {
  if (MemoryOf(record) == DeviceMemory::kRegistered) {
    if (!FreeApart(record.address, false)) ++unknown_frees_;
    return;
  }
  Objects& objects = MemoryOf(record) == DeviceMemory::kArray ? arrays_ : linear_;
  const auto it = objects.find(record.address);
  if (it != objects.end()) {
    if (&objects == &linear_) memory_map_.RemoveSegment(record.address);
    Died(objects, it, bucket);
  } else if (!FreeApart(record.address, true)) {
    ++unknown_frees_;
  }
}

// The same import may be opened several times and is closed as often.
void DeviceLedger::AllocApart(const trace::DeviceRecord& record, bool is_imported) {
  Apart& apart = (is_imported ? imported_ : registered_)[record.address];
  uint64_t& total_bytes = is_imported ? imported_bytes_ : registered_bytes_;
  total_bytes += record.bytes - apart.bytes;
  apart.bytes = record.bytes;
  apart.references = is_imported ? apart.references + 1 : 1;
}

bool DeviceLedger::FreeApart(uint64_t address, bool is_imported) {
  auto& table = is_imported ? imported_ : registered_;
  const auto it = table.find(address);
  if (it == table.end()) return false;
  if (--it->second.references > 0) return true;
  (is_imported ? imported_bytes_ : registered_bytes_) -= it->second.bytes;
  table.erase(it);
  return true;
}

// ---- Virtual memory management ----

void DeviceLedger::Create(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  const bool is_imported = MemoryOf(record) == DeviceMemory::kImported;
  if (!memory_map_.AddPhysical(record.handle, record.device, record.graph)) return;
  if (is_imported) return;  // its owner pays
  const bool is_pinned = MemoryOf(record) == DeviceMemory::kPinned;
  const DevicePool pool = is_pinned ? DevicePool{DevicePool::Kind::kPinned, -1}
                                    : DevicePool{DevicePool::Kind::kReserved, record.device};
  DeviceObject object = Make(record, pool, record.handle, time, bucket);
  object.context = 0;
  Born(physical_, object, bucket);
}

void DeviceLedger::Settle(uint64_t handle, uint32_t bucket) {
  if (!memory_map_.RemoveIfUnused(handle)) return;
  const auto it = physical_.find(handle);
  if (it != physical_.end()) Died(physical_, it, bucket);
}

void DeviceLedger::Unmap(const trace::DeviceRecord& record, uint32_t bucket) {
  for (uint64_t handle : memory_map_.Unmap(record.address, record.bytes)) Settle(handle, bucket);
}

// ---- Tensors ----

void DeviceLedger::AllocTensor(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  MarkTorchs(record);
  DeviceObject object =
      Make(record, {DevicePool::Kind::kTensors, record.device}, record.address, time, bucket);
  object.context = 0;
  if (const MemoryRange* range = memory_map_.FindForTensor(record.address)) {
    object.is_graph_private = object.is_graph_private || range->is_graph_private;
  } else {
    ++checks_[record.device].blocks_outside_segments;
  }
  Born(tensors_[record.device], object, bucket);
  CheckTorch(record);
}

void DeviceLedger::FreeTensor(const trace::DeviceRecord& record, uint32_t bucket) {
  Objects& objects = tensors_[record.device];
  const auto it = objects.find(record.address);
  if (it == objects.end()) {
    ++unknown_frees_;
  } else {
    Died(objects, it, bucket);
  }
  CheckTorch(record);
}

void DeviceLedger::CheckTorch(const trace::DeviceRecord& record) {
  if (record.reserved_bytes == 0) return;  // this torch tells no totals
  torch_reserved_bytes_[record.device] = record.reserved_bytes;
  TorchCheck& check = checks_[record.device];
  const uint64_t ours = pools_[{DevicePool::Kind::kTensors, record.device}].live_bytes;
  const auto difference = static_cast<int64_t>(record.total_bytes - ours);
  if (check.compared == 0) {
    check.first_difference = difference;
  } else if (difference != check.last_difference) {
    ++check.mismatches;
  }
  check.last_difference = difference;
  ++check.compared;
  const auto reserved = pools_.find({DevicePool::Kind::kReserved, record.device});
  if (reserved == pools_.end() || reserved->second.live_bytes < record.reserved_bytes)
    ++check.reserved_exceeded;
}

// ---- Endings ----

void DeviceLedger::Reset(const trace::DeviceRecord& record, uint32_t bucket) {
  const auto is_gone = [&record](const DeviceObject& object) {
    return object.device == record.device && (record.handle == 0 || object.context == record.handle);
  };
  for (Objects* objects : {&linear_, &arrays_}) {
    for (auto it = objects->begin(); it != objects->end();) {
      const auto next = std::next(it);
      if (is_gone(it->second)) {
        if (objects == &linear_) memory_map_.RemoveSegment(it->first);
        Died(*objects, it, bucket);
      }
      it = next;
    }
  }
  if (record.handle != 0) return;
  for (uint64_t handle : memory_map_.RemoveDevice(record.device)) {
    const auto it = physical_.find(handle);
    if (it != physical_.end()) Died(physical_, it, bucket);
  }
  Objects& tensors = tensors_[record.device];
  while (!tensors.empty()) Died(tensors, tensors.begin(), bucket);
}

void DeviceLedger::Refuse(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  ++out_of_memory_count_;
  const bool is_drivers = static_cast<DeviceLevel>(record.level) != DeviceLevel::kTensor;
  if (is_drivers && record.reserved_bytes != 0) {
    capacities_[record.device] = {record.reserved_bytes, record.total_bytes};
  }
  if (out_of_memory_.size() >= kKeptOutOfMemory) return;
  out_of_memory_.push_back({time, bucket, record.device, record.level, record.bytes, record.stack,
                            std::string(record.api), StateOf(record.device)});
}

// ---- Questions ----

std::vector<int32_t> DeviceLedger::devices() const {
  std::set<int32_t> found;
  for (const auto& [pool, level] : pools_) {
    if (pool.kind != DevicePool::Kind::kPinned) found.insert(pool.device);
  }
  return {found.begin(), found.end()};
}

DeviceState DeviceLedger::StateOf(int32_t device) const {
  DeviceState state;
  const auto level = [this](DevicePool pool) {
    const auto it = pools_.find(pool);
    return it == pools_.end() ? 0 : it->second.live_bytes;
  };
  state.reserved_bytes = level({DevicePool::Kind::kReserved, device});
  state.tensor_bytes = level({DevicePool::Kind::kTensors, device});
  const auto torch = torch_reserved_bytes_.find(device);
  if (torch != torch_reserved_bytes_.end()) state.torch_reserved_bytes = torch->second;
  const auto tensors = tensors_.find(device);
  if (tensors != tensors_.end()) {
    std::vector<std::pair<uint64_t, uint64_t>> blocks;
    blocks.reserve(tensors->second.size());
    for (const auto& [address, block] : tensors->second) blocks.emplace_back(address, block.bytes);
    const DeviceMemoryMap::Holes holes = memory_map_.FindHoles(device, blocks);
    state.free_in_segments_bytes = holes.total_bytes;
    state.largest_free_bytes = holes.largest_bytes;
  }
  for (const auto& [handle, pool] : async_pools_) {
    if (pool.device != device) continue;
    state.pool_reserved_bytes += pool.reserved_bytes;
    state.pool_used_bytes += pool.used_bytes;
  }
  for (const auto& [address, bytes] : address_space_) state.address_space_bytes += bytes;
  if (const auto capacity = capacities_.find(device); capacity != capacities_.end()) {
    state.limit_bytes = capacity->second.limit_bytes;
    state.driver_used_bytes = capacity->second.used_bytes;
  }
  return state;
}

const TorchCheck* DeviceLedger::CheckOf(int32_t device) const {
  const auto it = checks_.find(device);
  return it == checks_.end() ? nullptr : &it->second;
}

}  // namespace plateau::replay
