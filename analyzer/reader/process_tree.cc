#include "analyzer/reader/process_tree.h"

#include "absl/container/flat_hash_map.h"

namespace plateau::reader {

ProcessTree::ProcessTree(const Recording& recording)
    : parents_(recording.traces.size()), has_children_(recording.traces.size()) {
  absl::flat_hash_map<uint32_t, size_t> latest;  // trace of a pid; traces are in the order of their start
  for (size_t i = 0; i < recording.traces.size(); ++i) {
    const trace::FileHeader& header = recording.traces[i].header;
    if (const auto parent = latest.find(header.parent_pid);
        parent != latest.end() && header.parent_pid != header.pid) {
      parents_[i] = parent->second;
      has_children_[parent->second] = true;
    }
    latest[header.pid] = i;
  }
}

}  // namespace plateau::reader
