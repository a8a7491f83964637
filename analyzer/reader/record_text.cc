#include "analyzer/reader/record_text.h"

#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "preload/trace/decoder.h"
#include "preload/trace/holder_path.h"

namespace plateau::reader {
namespace {

using trace::RecordKind;

class Line {
 public:
  explicit Line(std::string* out) : out_(*out) {}
  Line& Number(const char* key, uint64_t value) {
    absl::StrAppend(&out_, " ", key, "=", value);
    return *this;
  }
  Line& Signed(const char* key, int64_t value) {
    absl::StrAppend(&out_, " ", key, "=", value);
    return *this;
  }
  Line& Hex(const char* key, uint64_t value) {
    absl::StrAppend(&out_, " ", key, "=0x", absl::Hex(value));
    return *this;
  }
  Line& Word(const char* key, const char* value) {
    absl::StrAppend(&out_, " ", key, "=", value);
    return *this;
  }
  Line& Text(const char* key, std::string_view value) {
    absl::StrAppend(&out_, " ", key, "=\"", absl::CHexEscape(absl::string_view(value.data(), value.size())),
                    "\"");
    return *this;
  }
  Line& Bytes(const char* key, std::string_view value) {
    absl::StrAppend(&out_, " ", key, "=",
                    absl::BytesToHexString(absl::string_view(value.data(), value.size())));
    return *this;
  }
  Line& Flag(const char* word, bool set) {
    if (set) absl::StrAppend(&out_, " ", word);
    return *this;
  }

 private:
  std::string& out_;
};

const char* ModeName(trace::Mode mode) {
  switch (mode) {
    case trace::Mode::kDefault:
      return "default";
    case trace::Mode::kExact:
      return "exact";
    case trace::Mode::kOff:
      return "off";
    case trace::Mode::kFolded:
      return "folded";
  }
  return "unknown";
}

const char* MapKindName(trace::MapKind kind) {
  switch (kind) {
    case trace::MapKind::kAnonymous:
      return "anonymous";
    case trace::MapKind::kFile:
      return "file";
    case trace::MapKind::kArena:
      return "arena";
    case trace::MapKind::kShared:
      return "shared";
  }
  return "unknown";
}

const char* MarkSourceName(trace::MarkSource source) {
  switch (source) {
    case trace::MarkSource::kRecordFunction:
      return "record_function";
    case trace::MarkSource::kCppHook:
      return "cpp_hook";
    case trace::MarkSource::kExplicit:
      return "explicit";
    case trace::MarkSource::kSiteCustomize:
      return "sitecustomize";
  }
  return "unknown";
}

}  // namespace

std::string RecordToText(const trace::Record& r) {
  std::string out;
  if (r.has_time) absl::StrAppend(&out, "@", r.tsc, " ");
  absl::StrAppend(&out, trace::RecordKindName(r.kind));
  Line line(&out);
  switch (r.kind) {
    case RecordKind::kAlloc:
      line.Hex("address", r.alloc.address).Number("bytes", r.alloc.bytes).Number("stack", r.alloc.stack);
      line.Flag("realloc", r.alloc.is_realloc);
      break;
    case RecordKind::kFree:
      line.Hex("address", r.free.address).Flag("realloc", r.free.is_realloc);
      break;
    case RecordKind::kNode:
      line.Number("node", r.node.node).Number("parent", r.node.parent).Number("location", r.node.location);
      break;
    case RecordKind::kPc:
      line.Number("location", r.pc.location).Number("module", r.pc.module).Hex("offset", r.pc.offset);
      break;
    case RecordKind::kTime:
    case RecordKind::kThreadEnd:
    case RecordKind::kReallocCancel:
      break;
    case RecordKind::kInfo:
      line.Text("key", r.info.key).Text("value", r.info.value);
      break;
    case RecordKind::kModule:
      line.Number("module", r.module.module).Hex("base", r.module.base).Hex("begin", r.module.begin);
      line.Number("bytes", r.module.bytes).Text("path", r.module.path).Bytes("build_id", r.module.build_id);
      break;
    case RecordKind::kModuleGone:
      line.Number("module", r.module_gone.module);
      break;
    case RecordKind::kCode:
      line.Number("code", r.code.code).Hex("python", r.code.python_version).Number("line", r.code.first_line);
      line.Text("file", r.code.file).Text("name", r.code.name).Bytes("table", r.code.line_table);
      if (!r.code.loops.empty()) line.Bytes("loops", r.code.loops);
      break;
    case RecordKind::kPythonLocation:
      line.Number("location", r.python_location.location).Number("code", r.python_location.code);
      line.Number("offset", r.python_location.offset);
      break;
    case RecordKind::kThreadStart:
      line.Number("thread", r.thread_start.thread_id).Number("creator", r.thread_start.creator_stream);
      line.Number("stack", r.thread_start.creator_stack).Text("name", r.thread_start.name);
      break;
    case RecordKind::kMap:
      line.Hex("address", r.map.address).Number("bytes", r.map.bytes).Number("prot", r.map.prot);
      line.Hex("flags", r.map.flags).Word("kind", MapKindName(r.map.kind)).Number("stack", r.map.stack);
      break;
    case RecordKind::kUnmap:
      line.Hex("address", r.unmap.address).Number("bytes", r.unmap.bytes);
      break;
    case RecordKind::kRemap:
      line.Hex("old", r.remap.old_address).Number("old_bytes", r.remap.old_bytes);
      line.Hex("new", r.remap.new_address)
          .Number("new_bytes", r.remap.new_bytes)
          .Number("stack", r.remap.stack);
      break;
    case RecordKind::kBreak:
      line.Hex("new", r.brk.new_break).Signed("change", r.brk.change_bytes).Number("stack", r.brk.stack);
      break;
    case RecordKind::kMark:
      line.Word("kind", trace::MarkKindName(r.mark.kind)).Word("source", MarkSourceName(r.mark.source));
      line.Number("value", r.mark.value).Text("name", r.mark.name);
      break;
    case RecordKind::kLedger:
      for (uint32_t i = 0; i < r.ledger.count; ++i) {
        line.Number(trace::LedgerFieldName(r.ledger.fields[i].field), r.ledger.fields[i].value);
      }
      break;
    case RecordKind::kDrop:
      line.Word("reason", trace::DropReasonName(r.drop.reason)).Number("events", r.drop.events);
      line.Number("bytes", r.drop.bytes);
      break;
    case RecordKind::kRate:
      line.Word("mode", ModeName(r.rate.mode)).Number("exact_from", r.rate.exact_from_bytes);
      line.Number("sample", r.rate.sample_bytes);
      break;
    case RecordKind::kDevice:
      line.Number("op", r.device.op).Number("level", r.device.level).Number("memory", r.device.memory);
      line.Signed("device", r.device.device).Hex("address", r.device.address).Number("bytes", r.device.bytes);
      line.Hex("handle", r.device.handle).Number("total", r.device.total_bytes);
      line.Number("reserved", r.device.reserved_bytes)
          .Number("stack", r.device.stack)
          .Text("api", r.device.api);
      line.Flag("graph", r.device.graph);
      break;
    case RecordKind::kTensor:
      line.Hex("address", r.tensor.address).Number("bytes", r.tensor.bytes);
      break;
    case RecordKind::kTensorGone:
      line.Hex("address", r.tensor.address);
      break;
    case RecordKind::kFork:
      line.Number("child", r.fork.child_pid);
      break;
    case RecordKind::kAllocIn:
      line.Hex("address", r.alloc_in.address);
      line.Number("bytes", r.alloc_in.bytes).Number("stack", r.alloc_in.stack);
      break;
    case RecordKind::kFreeIn:
      line.Hex("address", r.free_in.address);
      break;
    case RecordKind::kFoldTotals:
    case RecordKind::kFoldRow:
      line.Number("stack", r.fold_totals.stack).Number("allocs_256", r.fold_totals.alloc_count_256);
      line.Number("alloc_bytes", r.fold_totals.alloc_bytes).Number("frees_256", r.fold_totals.free_count_256);
      line.Number("free_bytes", r.fold_totals.free_bytes);
      break;
    case RecordKind::kCopiedPages:
      line.Bytes("runs", r.copied_pages.runs);
      break;
    case RecordKind::kResidency:
      line.Word("region", r.residency.kind == trace::RegionKind::kMap ? "map" : "block")
          .Hex("address", r.residency.address);
      line.Number("bytes", r.residency.bytes).Number("resident", r.residency.resident_bytes);
      line.Number("birth", r.residency.birth_tsc);
      break;
    case RecordKind::kHolderWalk: {
      const trace::HolderWalkRecord& walk = r.holder_walk;
      line.Number("walk", walk.walk).Word("reason", trace::WalkReasonName(walk.reason));
      line.Word("result", trace::WalkResultName(walk.result)).Number("step", walk.step);
      line.Number("objects", walk.objects).Number("elapsed", walk.elapsed_ns).Number("own", walk.own_bytes);
      line.Number("asked", walk.targets_asked).Number("found", walk.targets_found);
      line.Number("garbage", walk.garbage_objects).Number("garbage_bytes", walk.garbage_bytes);
      line.Number("frozen", walk.frozen_objects).Number("limit", walk.limit);
      line.Flag("gc_disabled", walk.gc_disabled);
      break;
    }
    case RecordKind::kAttach: {
      const trace::AttachRecord& attach = r.attach;
      line.Number("number", attach.number).Number("age", attach.age_ns);
      line.Number("rss_anon", attach.rss_anon_bytes).Number("rss_file", attach.rss_file_bytes);
      line.Number("rss_shmem", attach.rss_shmem_bytes).Number("own", attach.own_bytes);
      line.Number("arena", attach.allocator_arena_bytes).Number("arena_free", attach.allocator_free_bytes);
      line.Number("arena_mmap", attach.allocator_mmap_bytes).Number("words", attach.words);
      line.Number("modules", attach.modules).Number("left_out", attach.modules_left_out);
      line.Number("held", attach.held_ns).Flag("program_imports", attach.program_imports);
      break;
    }
    case RecordKind::kHolder: {
      const trace::HolderRecord& holder = r.holder;
      line.Number("walk", holder.walk).Number("stack", holder.stack);
      line.Word("end", trace::HolderEndName(holder.end)).Number("found", holder.targets_found);
      line.Number("asked", holder.targets_asked).Number("bytes", holder.bytes);
      line.Hex("container", holder.container).Number("length", holder.container_length);
      line.Number("bound", holder.container_bound).Number("at", holder.container_segments);
      line.Number("native_stack", holder.native_stack).Text("type", holder.container_type);
      line.Text("what", holder.what);
      trace::HolderPathReader path(holder.path);
      for (trace::HolderSegment segment; path.Next(&segment);) {
        line.Text("in", absl::StrCat(trace::SegmentKindName(segment.kind), ",", segment.number, ",",
                                     absl::string_view(segment.text.data(), segment.text.size())));
      }
      break;
    }
    case RecordKind::kTotals:
      line.Number("allocs", r.totals.totals.alloc_calls).Number("alloc_bytes", r.totals.totals.alloc_bytes);
      line.Number("frees", r.totals.totals.free_calls).Number("freed_bytes", r.totals.totals.freed_bytes);
      line.Number("recorded_allocs", r.totals.totals.recorded_allocs);
      line.Number("recorded_frees", r.totals.totals.recorded_frees);
      break;
    case RecordKind::kUnknown:
      line.Number("kind", r.unknown_kind);
      break;
  }
  return out;
}

}  // namespace plateau::reader
