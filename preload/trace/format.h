// The bytes of a Plateau trace, one file per traced process. docs/trace-format.md is the prose; this is the
// law.
//
//   offset 0            FileHeader   one page: a static part under a checksum, and a part that the running
//                                    process keeps writing
//   anywhere, aligned   Block        BlockHeader + payload: append-only, self-contained, checksummed
//   to 64 bytes         Ring extent  kSlotsPerExtent slots, listed in the header; a slot is a SlotHeader and
//                                    one open Block
//
// A thread fills the open block of its slot in shared memory; a full block is sealed, copied to the end of
// the file and the slot is used again. When the process dies at any instruction, the page cache holds the
// slots, and the reader adds the open blocks by their committed length. Everything is little-endian and
// fixed-width or LEB128.
//
// Compatibility: a reader takes every major version up to its own. Within a major version only new EXT kinds,
// new ledger fields and new header fields (in space that was zero) may appear; unknown ones are skipped and
// counted. CONTRIBUTING.md lists the places that a new kind of record touches.
#ifndef PLATEAU_PRELOAD_TRACE_FORMAT_H_
#define PLATEAU_PRELOAD_TRACE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace plateau::trace {

inline constexpr char kFileMagic[8] = {'\x89', 'P', 'L', 'T', '\r', '\n', '\x1a', '\n'};
inline constexpr uint16_t kVersionMajor = 1;
inline constexpr uint16_t kVersionMinor = 0;

inline constexpr size_t kHeaderBytes = 4096;
inline constexpr size_t kBlockAlign = 64;
inline constexpr size_t kSlotBytes = 64 * 1024;  // SlotHeader + BlockHeader + payload
inline constexpr size_t kSlotsPerExtent = 16;
inline constexpr size_t kExtentBytes = kSlotBytes * kSlotsPerExtent;
inline constexpr size_t kMaxExtents = 256;  // 4096 threads at a time with a kill-safe slot

// How allocations were chosen.
enum class Mode : uint8_t { kDefault = 0, kExact = 1, kOff = 2, kFolded = 3 };  // kFolded: totals only

// Why something is not in the trace. Each has an event and a byte counter in the header.
enum class DropReason : uint8_t {
  kReentrant = 0,  // a signal handler allocated while its thread was inside a hook
  kNoSlot = 1,     // more threads than slots, or no memory for one
  kWrite = 2,      // the file could not be written (disk full, quota, I/O error)
  kLimit = 3,      // the size limit was reached and the event was folded away
  kContended = 4,  // a lock was busy and we do not wait
  kSandbox = 5,    // a seccomp filter of the program forbids us to write, and the ring was full
  kCount = 8,      // room for later ones
};

// Whether the program was recorded from its start, or we came later and may be asked to go.
enum class AttachState : uint32_t { kFromStart = 0, kAttached = 1, kDetachWanted = 2, kDetached = 3 };

// Exact counters of everything the process did, whatever was sampled.
struct Totals {
  uint64_t alloc_calls;
  uint64_t alloc_bytes;
  uint64_t free_calls;
  uint64_t freed_bytes;      // bytes of the frees whose size was known (exact mode, or a sampled block)
  uint64_t recorded_allocs;  // how many of them are events of this trace
  uint64_t recorded_frees;
};

struct FileHeader {
  // Static: written once before the first event, covered by static_crc32c.
  char magic[8];
  uint16_t version_major;
  uint16_t version_minor;
  uint32_t header_bytes;
  uint32_t static_bytes;  // how much of this struct static_crc32c covers, itself taken as 0
  uint32_t static_crc32c;
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t start_realtime_ns;
  uint64_t start_monotonic_ns;
  uint64_t start_tsc;
  uint64_t process_start_ticks;  // field 22 of /proc/self/stat: tells two processes of one pid apart
  uint32_t slot_bytes;
  uint32_t slots_per_extent;
  uint8_t mode;
  uint8_t tsc_is_monotonic_ns;  // 1: time stamps are CLOCK_MONOTONIC nanoseconds, not TSC ticks
  uint8_t shared_ring;          // 0: the file system refused shared mappings; open blocks are lost on a kill
  uint8_t reserved0[5];
  uint64_t exact_from_bytes;  // requests of this size or more are recorded exactly
  uint64_t sample_bytes;      // mean of the Poisson gap below that; 0 = everything
  uint64_t max_trace_bytes;
  uint64_t python_sample_bytes;  // mean gap of ALLOC_IN in any mode, 0 = each; holds until the first RATE
                                 // whose mode is not exact
  uint64_t reserved1[3];

  // Dynamic: written by the running process with relaxed atomics, never covered by a checksum.
  uint64_t data_end;   // next free offset in the file
  uint64_t clock_tsc;  // a (tsc, monotonic, realtime) triple refreshed whenever a block is written
  uint64_t clock_monotonic_ns;
  uint64_t clock_realtime_ns;
  uint32_t clean_exit;  // 1 after an orderly end; open blocks may still be in the ring
  uint32_t extent_count;
  uint32_t stream_count;  // threads seen so far
  uint32_t state;         // 0 recording, 1 stopped by an error, 2 stopped by request
  uint64_t dropped_events[static_cast<size_t>(DropReason::kCount)];
  uint64_t dropped_bytes[static_cast<size_t>(DropReason::kCount)];
  Totals ended_threads;   // totals of threads that gave their slot back, and of threads without one
  uint32_t attach_state;  // AttachState; `plateau detach` writes kDetachWanted from outside
  uint32_t reserved3;
  uint64_t tick_address;      // of a word of the process: when it is 0, the next event looks at attach_state
  uint64_t holder_request;    // written by `plateau holders`: not 0 and not as before asks for a walk
  uint32_t holder_stacks[4];  // whose blocks it asks for first; 0: none
  uint64_t holder_answer;     // the request that was answered last
  uint64_t reserved2[2];
  uint64_t extent_offset[kMaxExtents];
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);
static_assert(offsetof(FileHeader, data_end) % 8 == 0);

// The header of a packed file has no list of extents: its blocks begin here. header_bytes says which it is.
inline constexpr size_t kPackedHeaderBytes = 448;
static_assert(offsetof(FileHeader, extent_offset) <= kPackedHeaderBytes &&
              kPackedHeaderBytes % kBlockAlign == 0 && kPackedHeaderBytes < sizeof(FileHeader));

inline constexpr uint32_t kBlockMagic = 0x314b4c50;  // "PLK1"

enum class BlockType : uint8_t {
  kEvents = 1,   // records, see record.h
  kColumns = 2,  // one kEvents payload as compressed columns; raw_bytes is its size
};

enum BlockFlags : uint8_t {
  kBlockOpen = 1,      // still in its ring slot: payload_bytes is the committed length, crc32c is not valid
  kBlockHeapOnly = 2,  // every record is ALLOC, FREE, FREE_IN, TIME or of a kind that IsHeapOnly();
                       // says nothing while the block is open
};

// `seq` counts the blocks of one stream from 0; a missing number is a gap. The same (stream, seq) may exist
// twice, sealed in the data and open in a slot: the reader takes the sealed one when its checksum holds, else
// the open one.
struct BlockHeader {
  uint32_t magic;
  BlockType type;
  uint8_t flags;
  uint16_t header_bytes;
  uint32_t stream;
  uint32_t seq;
  uint32_t payload_bytes;
  uint32_t record_count;
  uint64_t first_tsc;  // delta base of the block's time stamps
  uint64_t last_tsc;   // time of sealing; 0 while open
  uint32_t raw_bytes;  // payload size before compression; equal to payload_bytes for kEvents
  uint32_t crc32c;     // over the header with this field 0, then the payload
  uint32_t reserved[4];
};
static_assert(sizeof(BlockHeader) == 64);

// Whether nothing in the block needs to be known before the heap is replayed.
constexpr bool IsHeapOnly(const BlockHeader& header) {
  return (header.flags & (kBlockOpen | kBlockHeapOnly)) == kBlockHeapOnly;
}

// In front of the open block of a ring slot: what must survive a kill but belongs to no block.
struct SlotHeader {
  uint32_t stream;     // 0: the slot is free
  uint32_t thread_id;  // kernel tid
  Totals totals;       // of this thread since it took the slot
  uint64_t reserved[9];
};
static_assert(sizeof(SlotHeader) == 128);

inline constexpr size_t kSlotPayloadBytes = kSlotBytes - sizeof(SlotHeader) - sizeof(BlockHeader);

// A record is a tag byte (low 3 bits op, high 5 bits flags) and LEB128 fields. kExt carries its length, so
// that a reader can skip what it does not know.
enum class Op : uint8_t {
  kExt = 0,      // flags: ExtKind (31 = the kind follows as LEB128); length; payload
  kAlloc = 1,    // [address delta] [size] [stack delta] [time delta], by flags
  kFree = 2,     // address delta [time delta]
  kNode = 3,     // stack tree, see NodeCode
  kPc = 4,       // location: [id delta], then module id and offset delta, or code id delta and offset
  kTime = 5,     // time delta
  kAllocIn = 6,  // inside pymalloc: [size] address delta [stack delta] [time delta], by flags
  kFreeIn = 7,   // inside pymalloc: address delta [time delta]
};

enum AllocFlags : uint8_t {
  kAllocSameSize = 1,  // as the previous ALLOC of this block
  kAllocSameStack = 2,
  kAllocRealloc =
      4,  // continues the object that the previous FREE of this stream, flagged kFreeRealloc, gave up
  kAllocRecent = 8,  // a number under kRecentAddresses is the place of a recent address; else the delta is
                     // in bytes, plus kRecentAddresses. Without the flag the delta is in units of 16
  kAllocTime = 16,   // carries its own time stamp
};

enum FreeFlags : uint8_t {
  kFreeRecent = 1,  // as kAllocRecent
  kFreeRealloc =
      2,  // first half of a realloc: ALLOC with kAllocRealloc or REALLOC_CANCEL follows in this stream
  kFreeTime = 4,
};

// ALLOC_IN has the flags of ALLOC but kAllocRealloc, FREE_IN those of FREE but kFreeRealloc. Addresses count
// from the last one of their own size class (ALLOC_IN) or from the last one of either record (FREE_IN).
inline constexpr size_t kInClasses = 64;
constexpr size_t InClass(uint64_t bytes) {
  return bytes < 16 * (kInClasses - 1) ? static_cast<size_t>((bytes + 15) / 16) : kInClasses - 1;
}

inline constexpr size_t kRecentAddresses = 128;

// The flags of a NODE, as a number. "The path" is the stack that the NODEs before it described; a node that
// is not written out has the id of the one before it plus 1.
enum NodeCode : uint8_t {
  kNodeExplicit = 0,      // id delta, id - parent, location
  kNodeRun = 1,           // 1 to 7 nodes, each called by the one before it from where it was called last
  kNodeMaxRun = 7,        //
  kNodeBranch = 8,        // called by the 1st to 8th node above the last one of the path; first guess
  kNodeBranchTo = 16,     // the same, location
  kNodeNearBranches = 8,  //
  kNodeFarBranchTo = 24,  // how far above, location
  kNodeCallTo = 25,       // called by the last node of the path; location
  kNodeCallSecond = 26,   // the same, second guess
};

// The location of a node, where it is a number.
enum NodeLocation : uint8_t {
  kLocationFirstGuess = 0,
  kLocationSecondGuess = 1,
  kLocationDefinedLast = 2,  // by the last PC of the block
  kLocationDelta = 3,  // plus the delta: from the caller's (call), the node's that it replaces in the path
                       // (branch), or the last NODE's (explicit)
};

enum PcFlags : uint8_t {
  kPcNextId = 1,  // location = previous PC's of this block + 1
  kPcPython = 2,  // code id delta, offset instead of module, offset delta
};

enum class ExtKind : uint32_t {
  kInfo = 1,        // key, value: exe, cmdline, cwd, role, rank, env:*, status lines ("python", "torch", ...)
  kModule = 2,      // id, base, bytes, path, build id
  kModuleGone = 3,  // id
  kCode = 4,        // Python code object: id, version, first line, file, qualified name, line table, loops
  kThreadStart = 5,  // tid, creator's stream, creator's stack, name
  kThreadEnd = 6,
  kMap = 7,             // address, bytes, prot, flags, kind, stack
  kUnmap = 8,           // address, bytes
  kRemap = 9,           // old address, old bytes, new address, new bytes, stack
  kBreak = 10,          // new break, signed change, stack
  kMark = 11,           // kind, source, value, name
  kLedger = 12,         // list of (field, value)
  kDrop = 13,           // reason, events, bytes
  kRate = 14,           // mode, exact_from_bytes, sample_bytes
  kDevice = 15,         // one plateau_device_event with its stack
  kTensor = 16,         // address, bytes: the live host block at this address is a tensor storage
  kTensorGone = 17,     // address
  kReallocCancel = 18,  // the realloc failed: the object of the last kFreeRealloc lives on
  kFork = 19,           // child pid
  kTotals = 20,         // snapshot of the exact counters
  kCopiedPages = 21,    // of a forked child: runs of inherited pages that it no longer shares
  kFoldTotals = 22,     // of one stack since folding began: counts in 1/256 and bytes
  kFoldRow = 23,        // the same as a FoldRow, raised in place: what is true when the recording ends
  kResidency = 24,      // kind, address, reserved bytes, resident bytes, time of its birth
  kHolderWalk = 25,     // a look for who holds what stays: number, reason, result and figures, see record.h
  kHolder = 26,         // one chain that a walk found: stack, end, container, path
  kAttach = 27,  // the recording began while the program ran: its age and its memory then, see record.h
  // The next kind takes the next number. Numbers up to 30 fit in the tag byte; tests of unknown kinds use 30.
};

// Whether a record only matters when the heap is replayed, not to what must be known before. (ALLOC_IN does
// not: where pymalloc's objects lie decides what a mapping was.)
constexpr bool IsHeapOnly(ExtKind kind) {
  return kind == ExtKind::kMap || kind == ExtKind::kUnmap || kind == ExtKind::kRemap ||
         kind == ExtKind::kBreak || kind == ExtKind::kDevice || kind == ExtKind::kTensor ||
         kind == ExtKind::kTensorGone || kind == ExtKind::kReallocCancel;
}

// A whole FOLD_ROW: of fixed width, so that in a block of nothing else every number is aligned and can be
// raised by one store.
struct FoldRow {
  uint8_t tag;
  uint8_t length;  // of what follows
  uint16_t reserved;
  uint32_t stack;
  uint64_t alloc_count_256;
  uint64_t alloc_bytes;
  uint64_t free_count_256;
  uint64_t free_bytes;
};
static_assert(sizeof(FoldRow) == 40);
// Of a FOLD_ROW that is of no stack: its first number is how many groups of steps went by since folding
// began.
inline constexpr uint32_t kFoldRowOfGroups = UINT32_MAX;

// What RESIDENCY is about: a block of malloc's, or an anonymous map.
enum class RegionKind : uint8_t { kBlock = 1, kMap = 2 };

// Why a walk for holders was made, or was to be.
enum class WalkReason : uint8_t {
  kSteps = 1,    // so many steps have gone by
  kTime = 2,     // so much time, in a program without steps
  kRequest = 3,  // `plateau holders`
  kProgram = 4,  // the program asked: plateau_trace.mark.holders()
  kEnd = 5,      // the loop has ended
};

// What became of it. From kSkippedBudget on there was no walk.
enum class WalkResult : uint8_t {
  kDone = 1,
  kCutByTime = 2,            // chains of targets that had been found until then
  kCutByMemory = 3,          //
  kSkippedBudget = 10,       // the walks would take too much of the run's time
  kSkippedMemory = 11,       // too near to the memory limit
  kSkippedImport = 12,       // a module was being imported, again and again
  kSkippedFinalizing = 13,   // the interpreter is being torn down
  kSkippedCollecting = 14,   // a collection was under way
  kSkippedUnsupported = 15,  // an interpreter whose objects we do not know
  kSkippedNoTable = 16,      // exact mode keeps no table of live blocks
  kSkippedNoTargets = 17,    // nothing has grown since the last look
};

// How the chain of a HOLDER ends, away from the target.
enum class HolderEnd : uint8_t {
  kPath = 1,           // in a root of Python: the path is whole
  kGarbage = 2,        // nobody holds it but a cycle, the collector will free it. The path is the cycle
  kNativeBlock = 3,    // a recorded block of C or C++ holds it, made at native_stack
  kModuleData = 4,     // a variable of a module of machine code. what: the module
  kUnreachable = 5,    // no word of the process's memory points to it: lost
  kOpaque = 6,         // an object whose type does not say what it holds (what: the type) has the pointer
  kNotFound = 7,       // none of these was found; it may be any
  kGraph = 8,          // the path ends in an autograd graph
  kNative = 9,         // an object that C or C++ holds (the path begins with it)
  kNativeStack = 10,   // the stack of a thread that runs machine code
  kNativeMemory = 11,  // a block of C or C++ that is not in the trace. what: its C++ class, where known
  kFrozen = 12,        // as kGarbage, but gc.freeze() keeps the collector from it: it is never freed
};

enum class MapKind : uint8_t { kAnonymous = 1, kFile = 2, kShared = 3, kArena = 4 };  // kArena: of pymalloc

enum class MarkKind : uint8_t {
  kStep = 1,  // end of an optimizer step
  kEpoch = 2,
  kPhaseBegin = 3,
  kPhaseEnd = 4,
  kZeroGrad = 5,
  kBackwardBegin = 6,
  kBackwardEnd = 7,
  kFetchBegin = 8,  // DataLoader
  kFetchEnd = 9,
  kTrainMode = 10,  // value 1: train, 0: eval
  kOptimizerBegin = 11,
  kExplicitStep = 12,  // plateau_mark_step
  kOp = 13,            // an operator's name, on request
  kNote = 14,          // free text in the timeline
  kFetchStop = 15,     // the fetch that raised StopIteration: end of a pass
  kMarksLeftOut = 16,  // value: how many groups of steps since the last such mark, and the group that may
                       // begin there, are not in the trace
};

enum class MarkSource : uint8_t { kRecordFunction = 1, kCppHook = 2, kExplicit = 3, kSiteCustomize = 4 };

enum class LedgerField : uint32_t {
  kRssAnonBytes = 1,
  kRssFileBytes = 2,
  kRssShmemBytes = 3,
  kAllocatorArenaBytes = 4,  // mallinfo2().arena: main and thread heaps
  kAllocatorFreeBytes = 5,   // mallinfo2().fordblks
  kAllocatorMmapBytes = 6,   // mallinfo2().hblkhd
  kCgroupCurrentBytes = 7,
  kCgroupLimitBytes = 8,
  kHostLimitBytes = 9,  // MemTotal, when there is no cgroup limit
  kOwnBytes = 10,       // what Plateau itself holds in this process
  kSwapBytes = 11,
  kPrivateDirtyBytes = 12,  // of a forked worker
  kSharedBytes = 13,
  kThreads = 14,
  kHostAvailableBytes = 15,
  kOpenFiles = 16,  // descriptors
  kMappings = 17,   // lines of /proc/self/maps
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_FORMAT_H_
