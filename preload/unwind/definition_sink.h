// Where the unwinder writes what its ids mean. The tracer implements it with the trace encoder of the thread.
//
// A definition is written before its id is published to other threads. Callbacks run on the capturing thread,
// under the caller's guard, and may not capture stacks themselves.
#ifndef PLATEAU_PRELOAD_UNWIND_DEFINITION_SINK_H_
#define PLATEAU_PRELOAD_UNWIND_DEFINITION_SINK_H_

#include <cstdint>

#include "preload/trace/record.h"

namespace plateau::unwind {

struct DefinitionSink {
  void* context = nullptr;
  void (*module)(void* context, const trace::ModuleRecord& record) = nullptr;
  void (*module_gone)(void* context, uint32_t module) = nullptr;
  // `record.offset` is one past the byte that was executing: the return address, or for the frame that a
  // signal interrupted its pc + 1. So offset - 1 is always inside the instruction to name. Module 0 and an
  // offset below 4096 is a mark instead of an address: see StackEnd.
  void (*location)(void* context, const trace::PcRecord& record) = nullptr;
  void (*node)(void* context, const trace::NodeRecord& record) = nullptr;

  void Module(const trace::ModuleRecord& record) const { module(context, record); }
  void ModuleGone(uint32_t id) const { module_gone(context, id); }
  void Location(const trace::PcRecord& record) const { location(context, record); }
  void Node(const trace::NodeRecord& record) const { node(context, record); }
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_DEFINITION_SINK_H_
