#include "analyzer/reader/block_index.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/reader/sound_blocks.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {
namespace {

using trace::BlockHeader;
using trace::BlockStatus;

constexpr size_t kWindowBytes = 256 << 10;
constexpr int kSnapshotTries = 4;

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

const uint8_t* Bytes(std::string_view view) { return reinterpret_cast<const uint8_t*>(view.data()); }

bool AllZero(std::string_view view) {
  return view.empty() || (view[0] == 0 && std::memcmp(view.data(), view.data() + 1, view.size() - 1) == 0);
}

bool StartsWithMagic(std::string_view view) {
  uint32_t magic = 0;
  if (view.size() < sizeof(magic)) return false;
  std::memcpy(&magic, view.data(), sizeof(magic));
  return magic == trace::kBlockMagic;
}

const char* Reason(BlockStatus status) {
  switch (status) {
    case BlockStatus::kTruncated:
      return "the file ends within it";
    case BlockStatus::kBadHeader:
      return "impossible sizes";
    case BlockStatus::kBadChecksum:
      return "checksum mismatch";
    default:
      return "no block starts here";
  }
}

class Indexer {
 public:
  Indexer(const InputFile& file, const trace::FileHeader& header, Check check, BlockIndex* index,
          ReadSummary* summary)
      : file_(file),
        header_(header),
        check_(check),
        index_(*index),
        summary_(*summary),
        window_(&file, kWindowBytes) {}

  absl::Status Run() {
    SnapshotRing();
    PLATEAU_ASSIGN_OR_RETURN(file_bytes_, file_.Size());
    summary_.file_bytes = file_bytes_;
    WalkData();
    PLATEAU_RETURN_IF_ERROR(window_.status());
    BuildStreams();
    return absl::OkStatus();
  }

 private:
  // Copies the open blocks of every ring slot that the header lists.
  void SnapshotRing() {
    const uint64_t slot_bytes = header_.slot_bytes;
    const uint64_t slots = header_.slots_per_extent;
    if (slot_bytes < trace::kSlotBytes / 16 || slot_bytes > kMaxBlockBytes || slots == 0 || slots > 65536)
      return;
    const absl::StatusOr<uint64_t> size = file_.Size();
    const size_t extents = std::min<size_t>(header_.extent_count, trace::kMaxExtents);
    for (size_t i = 0; i < extents && size.ok(); ++i) {
      const uint64_t begin = header_.extent_offset[i];
      if (begin % trace::kBlockAlign != 0 || begin < trace::kHeaderBytes || begin >= *size) continue;
      // The list is not under a checksum: an extent must look like one, else its bytes are walked as data.
      if (!LooksLikeExtent(begin, slot_bytes, slots)) continue;
      extents_[begin] = begin + slot_bytes * slots;
      for (uint64_t slot = 0; slot < slots; ++slot) SnapshotSlot(begin + slot * slot_bytes, slot_bytes);
    }
  }

  bool LooksLikeExtent(uint64_t begin, uint64_t slot_bytes, uint64_t slots) {
    struct {
      trace::SlotHeader slot;
      uint32_t magic;
    } head;
    for (uint64_t slot = 0; slot < slots; ++slot) {
      const auto n = file_.Read(begin + slot * slot_bytes, &head, sizeof(head));
      if (!n.ok() || *n < sizeof(head)) break;
      if (head.slot.stream == trace::kBlockMagic) return false;
      if (head.magic != 0 && head.magic != trace::kBlockMagic) return false;
    }
    return true;
  }

  void SnapshotSlot(uint64_t offset, uint64_t slot_bytes) {
    // The owner may be writing. Records are committed by length, so a copy is whole as long as the slot still
    // holds the same block afterwards.
    for (int attempt = 0; attempt < kSnapshotTries; ++attempt) {
      struct {
        trace::SlotHeader slot;
        BlockHeader block;
      } head, after;
      const auto n = file_.Read(offset, &head, sizeof(head));
      if (!n.ok() || *n < sizeof(head)) return;
      const auto add_totals = [&] {
        if (head.slot.stream != 0) AddTotals(head.slot.totals, &summary_.totals);
      };
      if (head.block.magic != trace::kBlockMagic || !(head.block.flags & trace::kBlockOpen))
        return add_totals();
      if (head.block.header_bytes != sizeof(BlockHeader) ||
          head.block.payload_bytes > slot_bytes - sizeof(head)) {
        return add_totals();
      }
      std::string payload(head.block.payload_bytes, '\0');
      const auto got = file_.Read(offset + sizeof(head), payload.data(), payload.size());
      const auto again = file_.Read(offset, &after, sizeof(after));
      if (!got.ok() || !again.ok() || *again < sizeof(after)) return;
      if (after.block.seq != head.block.seq || after.block.stream != head.block.stream ||
          after.block.payload_bytes < head.block.payload_bytes) {
        continue;  // recycled meanwhile
      }
      payload.resize(*got);
      add_totals();
      AddOpenBlock(offset + sizeof(trace::SlotHeader), head.block, std::move(payload));
      return;
    }
  }

  void AddOpenBlock(uint64_t offset, BlockHeader block, std::string payload) {
    if (payload.empty()) return;
    block.payload_bytes = block.raw_bytes = static_cast<uint32_t>(payload.size());
    BlockRef ref{block, offset, static_cast<int32_t>(index_.open_payloads.size())};
    index_.open_payloads.push_back(std::move(payload));
    AddBlock(ref);
  }

  static uint64_t KeyOf(const BlockHeader& header) { return uint64_t{header.stream} << 32 | header.seq; }

  void AddBlock(const BlockRef& ref) {
    if (ref.header.type == trace::BlockType::kColumns) {
      unpacked_bytes_ += ref.header.raw_bytes;
      if (unpacked_bytes_ > kFreeUnpackedBytes + kMaxUnpackedRatio * file_bytes_) {
        unpacked_bytes_ -= ref.header.raw_bytes;
        ++summary_.damaged_blocks;
        summary_.damaged_bytes += ref.header.payload_bytes;
        summary_.Note(absl::StrCat(file_.path(), ": block at offset ", ref.offset,
                                   ": the file unpacks to more than is read of one of its size"));
        return;
      }
    }
    const auto [it, is_new] = blocks_.try_emplace(KeyOf(ref.header), ref);
    if (is_new) return;
    if (it->second.open_copy >= 0 && ref.open_copy < 0) {
      it->second = ref;
    } else {
      ++summary_.duplicate_blocks;
    }
  }

  // A packed file has a short header. When that is damaged, its first block tells: where it lies a long
  // header has an offset of an extent, which is no magic.
  uint64_t DataBegin() {
    const bool is_packed = header_.header_bytes == trace::kPackedHeaderBytes ||
                           StartsWithMagic(window_.View(trace::kPackedHeaderBytes, sizeof(uint32_t)));
    return is_packed ? trace::kPackedHeaderBytes : trace::kHeaderBytes;
  }

  void WalkData() {
    Progress progress(absl::StrCat("reading ", file_.path()), file_bytes_);
    const SoundBlocks sound = FindSoundBlocks(file_, DataBegin(), file_bytes_, extents_, check_, &progress);
    for (const BlockRef& ref : sound.blocks) AddBlock(ref);
    summary_.unknown_blocks += sound.unknown_blocks;
    uint64_t offset = sound.end;
    while (offset < file_bytes_ && window_.status().ok()) {
      const uint64_t before = offset;
      if (const auto extent = extents_.find(offset); extent != extents_.end()) {
        offset = extent->second;
        continue;
      }
      offset = NextBlock(offset);
      progress.Add(offset - before);
    }
  }

  // Takes the block at `offset` and returns where the next one may start.
  uint64_t NextBlock(uint64_t offset) {
    std::string_view view = window_.View(offset, sizeof(BlockHeader));
    if (!StartsWithMagic(view)) return SkipToMagic(offset, BlockStatus::kBadMagic);
    BlockHeader header;
    std::string_view payload;
    BlockStatus status = BlockStatus::kTruncated;
    if (view.size() == sizeof(header)) {
      std::memcpy(&header, view.data(), sizeof(header));
      const uint64_t total = uint64_t{header.header_bytes} + header.payload_bytes;
      if (total > kMaxBlockBytes || header.raw_bytes > kMaxBlockBytes) {
        status = BlockStatus::kBadHeader;
      } else {
        view = window_.View(offset, total);
        status = trace::ReadBlock(Bytes(view), view.size(), &header, &payload);
      }
    }
    switch (status) {
      case BlockStatus::kOk:
        AddBlock({header, offset, -1});
        break;
      case BlockStatus::kOpen:  // a ring slot that the header does not list
        AddOpenBlock(offset, header, std::string(payload));
        return offset + trace::kBlockAlign;
      case BlockStatus::kUnknownType:
        ++summary_.unknown_blocks;
        break;
      default:
        if (view.size() >= sizeof(header) && IsWholeInRing(header)) {
          ++summary_.duplicate_blocks;
          break;
        }
        if (status == BlockStatus::kTruncated) summary_.truncated = true;
        return SkipToMagic(offset, status);
    }
    return AlignUp(offset + header.header_bytes + header.payload_bytes, trace::kBlockAlign);
  }

  // A copy of a ring slot that was being written when the process was killed, or is at this moment: nothing is missing,
  // because the slot is used again only after the copy is whole.
  bool IsWholeInRing(const BlockHeader& copy) const {
    const auto it = blocks_.find(KeyOf(copy));
    return it != blocks_.end() && it->second.open_copy >= 0 &&
           it->second.header.payload_bytes >= copy.raw_bytes && copy.header_bytes == sizeof(BlockHeader) &&
           copy.payload_bytes <= header_.slot_bytes;
  }

  // Looks for the next block header behind `offset`; what lies between is damage unless it is all zero.
  uint64_t SkipToMagic(uint64_t offset, BlockStatus status) {
    uint64_t next = offset;
    uint64_t nonzero_bytes = 0;
    do {
      const std::string_view line = window_.View(next, trace::kBlockAlign);
      if (line.empty()) {
        next = file_bytes_;
        break;
      }
      if (next != offset && StartsWithMagic(line)) break;
      if (!AllZero(line)) nonzero_bytes += line.size();
      next += trace::kBlockAlign;
    } while (next < file_bytes_ && !extents_.contains(next));
    next = std::min(next, file_bytes_);
    if (nonzero_bytes > 0) {
      ++summary_.damaged_blocks;
      summary_.damaged_bytes += next - offset;
      summary_.Note(absl::StrCat(file_.path(), ": block at offset ", offset, ": ", Reason(status), "; ",
                                 next - offset, " bytes skipped"));
    }
    return next;
  }

  void BuildStreams() {
    std::vector<BlockRef> all;
    all.reserve(blocks_.size());
    for (const auto& [key, ref] : blocks_) all.push_back(ref);
    std::sort(all.begin(), all.end(), [](const BlockRef& a, const BlockRef& b) {
      return std::pair(a.header.stream, a.header.seq) < std::pair(b.header.stream, b.header.seq);
    });
    for (const BlockRef& ref : all) {
      if (index_.streams.empty() || index_.streams.back().stream != ref.header.stream) {
        index_.streams.push_back({ref.header.stream, {}});
        if (ref.header.seq > 0) summary_.gap_blocks += ref.header.seq;
      } else {
        summary_.gap_blocks += ref.header.seq - index_.streams.back().blocks.back().header.seq - 1;
      }
      index_.streams.back().blocks.push_back(ref);
      summary_.open_blocks += ref.open_copy >= 0;
    }
    summary_.blocks = all.size();
  }

  const InputFile& file_;
  const trace::FileHeader& header_;
  const Check check_;
  BlockIndex& index_;
  ReadSummary& summary_;
  FileWindow window_;
  uint64_t unpacked_bytes_ = 0;  // of the packed blocks so far
  uint64_t file_bytes_ = 0;
  std::map<uint64_t, uint64_t> extents_;  // begin -> end
  absl::flat_hash_map<uint64_t, BlockRef> blocks_;
};

}  // namespace

absl::Status BuildBlockIndex(const InputFile& file, const trace::FileHeader& header, Check check,
                             BlockIndex* index, ReadSummary* summary) {
  return Indexer(file, header, check, index, summary).Run();
}

}  // namespace plateau::reader
