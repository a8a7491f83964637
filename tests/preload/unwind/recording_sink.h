// A DefinitionSink that keeps every definition and turns a stack id back into code addresses.
//
// Shared by all threads of a test, as the ids are. Definitions are kept in arrays of atomics, because an id
// may reach another thread without any lock, which is what is being tested.
#ifndef PLATEAU_TESTS_PRELOAD_UNWIND_RECORDING_SINK_H_
#define PLATEAU_TESTS_PRELOAD_UNWIND_RECORDING_SINK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "preload/unwind/definition_sink.h"

namespace plateau::unwind {

class RecordingSink {
 public:
  struct Module {
    uint64_t base = 0;
    uint64_t begin = 0;
    uint64_t bytes = 0;
    std::string path;
    std::string build_id;
    bool gone = false;
  };

  explicit RecordingSink(size_t max_nodes = size_t{1} << 22, size_t max_locations = size_t{1} << 20)
      : nodes_(max_nodes), locations_(max_locations), module_bases_(1 << 16) {}

  DefinitionSink sink() {
    DefinitionSink sink;
    sink.context = this;
    sink.module = [](void* self, const trace::ModuleRecord& record) {
      static_cast<RecordingSink*>(self)->AddModule(record);
    };
    sink.module_gone = [](void* self, uint32_t id) {
      auto* recording = static_cast<RecordingSink*>(self);
      std::lock_guard lock(recording->mutex_);
      recording->modules_[id].gone = true;
    };
    sink.location = [](void* self, const trace::PcRecord& record) {
      static_cast<RecordingSink*>(self)->AddLocation(record);
    };
    sink.node = [](void* self, const trace::NodeRecord& record) {
      static_cast<RecordingSink*>(self)->AddNode(record);
    };
    return sink;
  }

  // Code addresses of a stack, leaf first, as the trace tells them: return addresses (interrupted pc + 1 for
  // frames under a signal). Marks appear as numbers below 4096. An undefined id gives a single 0.
  void Resolve(uint32_t node, std::vector<uintptr_t>* addresses) const {
    addresses->clear();
    while (node != 0) {
      const uint64_t definition = node < nodes_.size() ? nodes_[node].load(std::memory_order_relaxed) : 0;
      const uint64_t location = definition & 0xffffffff;
      if (location == 0 || location >= locations_.size()) {
        *addresses = {0};
        return;
      }
      const uint32_t module = locations_[location].module.load(std::memory_order_relaxed);
      const uint64_t base = module == 0 ? 0 : module_bases_[module].load(std::memory_order_relaxed);
      addresses->push_back(base + locations_[location].offset.load(std::memory_order_relaxed));
      node = static_cast<uint32_t>(definition >> 32);
    }
  }
  std::vector<uintptr_t> Resolve(uint32_t node) const {
    std::vector<uintptr_t> addresses;
    Resolve(node, &addresses);
    return addresses;
  }

  std::map<uint32_t, Module> modules() {
    std::lock_guard lock(mutex_);
    return modules_;
  }
  uint64_t node_count() const { return node_count_.load(); }
  uint64_t location_count() const { return location_count_.load(); }
  uint64_t redefinitions() const { return redefinitions_.load(); }
  uint64_t overflows() const { return overflows_.load(); }

 private:
  struct Location {
    std::atomic<uint32_t> module{0};
    std::atomic<uint64_t> offset{0};
  };

  void AddModule(const trace::ModuleRecord& record) {
    std::lock_guard lock(mutex_);
    modules_[record.module] = {record.base, record.begin, record.bytes, std::string(record.path),
                               std::string(record.build_id)};
    module_bases_[record.module].store(record.base, std::memory_order_relaxed);
  }

  void AddLocation(const trace::PcRecord& record) {
    location_count_.fetch_add(1);
    if (record.location >= locations_.size()) {
      overflows_.fetch_add(1);
      return;
    }
    locations_[record.location].module.store(record.module, std::memory_order_relaxed);
    locations_[record.location].offset.store(record.offset, std::memory_order_relaxed);
  }

  void AddNode(const trace::NodeRecord& record) {
    node_count_.fetch_add(1);
    if (record.node >= nodes_.size()) {
      overflows_.fetch_add(1);
      return;
    }
    const uint64_t definition = uint64_t{record.parent} << 32 | record.location;
    if (nodes_[record.node].exchange(definition, std::memory_order_relaxed) != 0) redefinitions_.fetch_add(1);
  }

  std::vector<std::atomic<uint64_t>> nodes_;
  std::vector<Location> locations_;
  std::vector<std::atomic<uint64_t>> module_bases_;
  std::mutex mutex_;
  std::map<uint32_t, Module> modules_;
  std::atomic<uint64_t> node_count_{0};
  std::atomic<uint64_t> location_count_{0};
  std::atomic<uint64_t> redefinitions_{0};
  std::atomic<uint64_t> overflows_{0};
};

}  // namespace plateau::unwind

#endif  // PLATEAU_TESTS_PRELOAD_UNWIND_RECORDING_SINK_H_
