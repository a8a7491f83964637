// The records of a trace as plain structs: what the encoder takes and the decoder gives back.
//
// Strings are views: into the caller's memory when encoding, into the block's payload when decoding (valid as
// long as the payload is). They are bytes from the traced process, not checked to be UTF-8.
#ifndef PLATEAU_PRELOAD_TRACE_RECORD_H_
#define PLATEAU_PRELOAD_TRACE_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/trace/format.h"

namespace plateau::trace {

struct AllocRecord {
  uint64_t address;
  uint64_t bytes;
  uint32_t stack;   // node id, 0 = no stack
  bool is_realloc;  // continues the object of the preceding FreeRecord with is_realloc
};

struct FreeRecord {
  uint64_t address;
  bool is_realloc;
};

// A node of the stack tree; parent 0 is the root.
struct NodeRecord {
  uint32_t node;
  uint32_t parent;
  uint32_t location;
};

// A native code address: the return address (or the faulting one) relative to the module's base.
struct PcRecord {
  uint32_t location;
  uint32_t module;  // 0: no module is known and `offset` is the absolute address
  uint64_t offset;
};

struct InfoRecord {
  std::string_view key;
  std::string_view value;
};

struct ModuleRecord {
  uint32_t module;  // from 1
  uint64_t base;    // load bias: address - base is what the ELF file calls the address
  uint64_t begin;   // first mapped byte
  uint64_t bytes;
  std::string_view path;
  std::string_view build_id;  // raw bytes, empty when the module has none
};

struct ModuleGoneRecord {
  uint32_t module;
};

struct CodeRecord {
  uint32_t code;
  uint16_t python_version;  // major << 8 | minor
  uint32_t first_line;
  std::string_view file;
  std::string_view name;        // qualified where the version has it
  std::string_view line_table;  // in that version's format, without columns
  std::string_view loops;       // preload/python/loop_table.h; empty: not known
};

struct PythonLocationRecord {
  uint32_t location;
  uint32_t code;
  uint32_t offset;  // bytes into the bytecode
};

struct ThreadStartRecord {
  uint32_t thread_id;
  uint32_t creator_stream;
  uint32_t creator_stack;
  std::string_view name;
};

struct MapRecord {
  uint64_t address;
  uint64_t bytes;
  uint32_t prot;
  uint32_t flags;
  MapKind kind;
  uint32_t stack;
};

struct UnmapRecord {
  uint64_t address;
  uint64_t bytes;
};

struct RemapRecord {
  uint64_t old_address;
  uint64_t old_bytes;
  uint64_t new_address;
  uint64_t new_bytes;
  uint32_t stack;
};

struct BreakRecord {
  uint64_t new_break;
  int64_t change_bytes;
  uint32_t stack;
};

struct MarkRecord {
  MarkKind kind;
  MarkSource source;
  uint64_t value;
  std::string_view name;
};

inline constexpr size_t kMaxLedgerFields = 24;

struct LedgerRecord {
  uint32_t count;
  struct {
    LedgerField field;
    uint64_t value;
  } fields[kMaxLedgerFields];
};

struct DropRecord {
  DropReason reason;
  uint64_t events;
  uint64_t bytes;
};

struct RateRecord {
  Mode mode;
  uint64_t exact_from_bytes;
  uint64_t sample_bytes;
};

// The fields of plateau_device_event, with the stack it was captured with.
struct DeviceRecord {
  uint8_t op;
  uint8_t level;
  uint8_t memory;
  bool graph;
  int32_t device;
  uint64_t address;
  uint64_t bytes;
  uint64_t handle;
  uint64_t total_bytes;
  uint64_t reserved_bytes;
  uint32_t stack;
  std::string_view api;
};

struct TensorRecord {
  uint64_t address;
  uint64_t bytes;
};

struct ForkRecord {
  uint32_t child_pid;
};

// A small object of Python, which lies inside an arena of pymalloc.
struct AllocInRecord {
  uint64_t address;
  uint64_t bytes;
  uint32_t stack;
};

struct FreeInRecord {
  uint64_t address;
};

// What one stack has done since folding began; of sampled blocks, each with the weight it stands for.
struct FoldTotalsRecord {
  uint32_t stack;
  uint64_t alloc_count_256;  // in units of 1/256
  uint64_t alloc_bytes;
  uint64_t free_count_256;
  uint64_t free_bytes;
};

struct TotalsRecord {
  Totals totals;
};

// Pages of a forked child that it shares with nobody any more: number of the first page, then in turns the
// length of a run and of the gap behind it, all LEB128. A record stands for itself; what several say adds up.
struct CopiedPagesRecord {
  std::string_view runs;
};
inline constexpr uint64_t kCopiedPageBytes = 4096;

// How much of a large block or map is in memory. The birth is the time stamp of the ALLOC or MAP that made it,
// which tells it from others that had the same address before.
struct ResidencyRecord {
  RegionKind kind;
  uint64_t address;
  uint64_t bytes;
  uint64_t resident_bytes;
  uint64_t birth_tsc;
};

// One look for holders, or why there was none. HOLDERs of the same walk stand before it in the same stream.
struct HolderWalkRecord {
  uint64_t walk;  // from 1; the number that its HOLDERs have
  WalkReason reason;
  WalkResult result;
  uint64_t step;  // how many steps the shim had counted; 0: none
  uint64_t objects;
  uint64_t elapsed_ns;
  uint64_t own_bytes;  // most memory of ours that it took
  uint64_t targets_asked;
  uint64_t targets_found;
  uint64_t garbage_objects;  // only counted when a target was not found
  uint64_t garbage_bytes;    // of the targets among them
  bool gc_disabled;
  uint64_t frozen_objects;  // gc.freeze(): never collected; counted as garbage_objects are
  uint64_t limit;           // that cut it or forbade it: nanoseconds or bytes, by the result
};

// One chain. Targets of one stack whose chains have the same text and the same container are one record.
struct HolderRecord {
  uint64_t walk;
  uint32_t stack;  // where the targets were allocated
  HolderEnd end;
  uint64_t targets_found;  // that this chain holds,
  uint64_t targets_asked;  // of so many of this stack
  uint64_t bytes;          // of the blocks of targets_found
  uint64_t container;      // address; 0: none
  uint64_t container_length;
  uint64_t container_bound;     // maxlen, maxsize; 0: none known
  uint32_t container_segments;  // how many segments lead to the container
  uint32_t native_stack;        // of kNativeBlock
  std::string_view container_type;
  std::string_view what;  // see HolderEnd
  std::string_view path;  // see holder_path.h
};

// The recording began while the program ran: what there was at that moment. It comes once, near the beginning.
struct AttachRecord {
  uint64_t number;  // 1: this process was not attached to before
  uint64_t age_ns;  // of the process
  uint64_t rss_anon_bytes;
  uint64_t rss_file_bytes;
  uint64_t rss_shmem_bytes;
  uint64_t own_bytes;              // Plateau's own, of rss_anon_bytes
  uint64_t allocator_arena_bytes;  // as the fields of the ledger; all three 0: the allocator was not asked
  uint64_t allocator_free_bytes;
  uint64_t allocator_mmap_bytes;
  uint64_t words;             // import words that lead to hooks
  uint64_t modules;           // that were looked at
  uint64_t modules_left_out;  // of them: calls of theirs are not seen
  uint64_t held_ns;           // how long the thread stood still in which this happened
  bool program_imports;       // the main program itself imports functions of the allocator
};

enum class RecordKind : uint8_t {
  kAlloc,
  kFree,
  kNode,
  kPc,
  kTime,
  kInfo,
  kModule,
  kModuleGone,
  kCode,
  kPythonLocation,
  kThreadStart,
  kThreadEnd,
  kMap,
  kUnmap,
  kRemap,
  kBreak,
  kMark,
  kLedger,
  kDrop,
  kRate,
  kDevice,
  kTensor,
  kTensorGone,
  kReallocCancel,
  kFork,
  kAllocIn,
  kFreeIn,
  kTotals,
  kCopiedPages,
  kFoldTotals,
  kFoldRow,  // a FoldTotalsRecord as of the end of the recording
  kResidency,
  kHolderWalk,
  kHolder,
  kAttach,
  kUnknown,  // a kind from a later version: skipped, `unknown_kind` says which
};

// One decoded record. `tsc` is its own time stamp when `has_time`, else that of the last stamped record
// before it in the block, which is a lower bound.
struct Record {
  RecordKind kind;
  bool has_time;
  uint64_t tsc;
  union {
    AllocRecord alloc;
    FreeRecord free;
    NodeRecord node;
    PcRecord pc;
    InfoRecord info;
    ModuleRecord module;
    ModuleGoneRecord module_gone;
    CodeRecord code;
    PythonLocationRecord python_location;
    ThreadStartRecord thread_start;
    MapRecord map;
    UnmapRecord unmap;
    RemapRecord remap;
    BreakRecord brk;
    MarkRecord mark;
    LedgerRecord ledger;
    DropRecord drop;
    RateRecord rate;
    DeviceRecord device;
    TensorRecord tensor;  // kTensorGone too, with bytes 0
    ForkRecord fork;
    AllocInRecord alloc_in;
    FreeInRecord free_in;
    FoldTotalsRecord fold_totals;  // kFoldRow too
    TotalsRecord totals;
    CopiedPagesRecord copied_pages;
    ResidencyRecord residency;
    HolderWalkRecord holder_walk;
    HolderRecord holder;
    AttachRecord attach;
    uint32_t unknown_kind;
  };

  Record() : kind(RecordKind::kTime), has_time(false), tsc(0), unknown_kind(0) {}
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_RECORD_H_
