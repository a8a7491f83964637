#include "analyzer/reader/sound_blocks.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "analyzer/base/work_on_threads.h"
#include "preload/trace/decoder.h"
#include "preload/trace/format.h"

namespace plateau::reader {
namespace {

using trace::BlockHeader;
using trace::BlockStatus;

struct Link {
  uint64_t offset;
  uint64_t bytes;  // header and payload
  BlockHeader header;
  BlockStatus status = BlockStatus::kTruncated;  // until it is checked
};

uint64_t BytesOf(const BlockHeader& header) { return uint64_t{header.header_bytes} + header.payload_bytes; }

// Moves `offset` behind the row.
std::vector<Link> FollowHeaders(const InputFile& file, uint64_t file_bytes,
                                const std::map<uint64_t, uint64_t>& extents, uint64_t* offset) {
  std::vector<Link> row;
  while (*offset < file_bytes) {
    if (const auto extent = extents.find(*offset); extent != extents.end()) {
      *offset = extent->second;
      continue;
    }
    BlockHeader header;
    const auto n = file.Read(*offset, &header, sizeof(header));
    if (!n.ok() || *n < sizeof(header) || header.magic != trace::kBlockMagic) break;
    const uint64_t bytes = BytesOf(header);
    if ((header.flags & trace::kBlockOpen) != 0 || header.header_bytes < sizeof(header) ||
        bytes > kMaxBlockBytes || header.raw_bytes > kMaxBlockBytes || bytes > file_bytes - *offset) {
      break;
    }
    row.push_back({*offset, bytes, header});
    *offset = (*offset + bytes + trace::kBlockAlign - 1) / trace::kBlockAlign * trace::kBlockAlign;
  }
  return row;
}

void CheckOne(const InputFile& file, std::string* buffer, Link* link) {
  if (buffer->size() < link->bytes) buffer->resize(link->bytes);
  const auto n = file.Read(link->offset, buffer->data(), link->bytes);
  if (!n.ok() || *n < link->bytes) return;
  std::string_view payload;
  link->status = trace::ReadBlock(reinterpret_cast<const uint8_t*>(buffer->data()), link->bytes,
                                  &link->header, &payload);
  // Of a file that changes, another header may be there by now.
  if (BytesOf(link->header) != link->bytes) link->status = BlockStatus::kTruncated;
}

// What the header alone can tell.
void Believe(Link* link) {
  if (link->header.header_bytes < sizeof(BlockHeader)) return;
  switch (link->header.type) {
    case trace::BlockType::kEvents:
    case trace::BlockType::kColumns:
      link->status = BlockStatus::kOk;
  }
}

void CheckAll(const InputFile& file, std::vector<Link>* row, Progress* progress) {
  constexpr size_t kBlocksForAThread = 16;
  std::atomic<size_t> next{0};
  const size_t threads =
      std::min<size_t>(std::thread::hardware_concurrency(), row->size() / kBlocksForAThread);
  WorkOnThreads(threads, [&](size_t) {
    std::string buffer;
    for (size_t i; (i = next.fetch_add(1)) < row->size();) {
      CheckOne(file, &buffer, &(*row)[i]);
      progress->Add((*row)[i].bytes);
    }
  });
}

}  // namespace

SoundBlocks FindSoundBlocks(const InputFile& file, uint64_t begin, uint64_t file_bytes,
                            const std::map<uint64_t, uint64_t>& extents, Check check, Progress* progress) {
  SoundBlocks sound;
  sound.end = begin;
  std::vector<Link> row = FollowHeaders(file, file_bytes, extents, &sound.end);
  if (check == Check::kWhenLoaded) {
    for (Link& link : row) Believe(&link);
  } else {
    CheckAll(file, &row, progress);
  }
  sound.blocks.reserve(row.size());
  for (const Link& link : row) {
    if (link.status == BlockStatus::kOk) {
      sound.blocks.push_back({link.header, link.offset, -1});
    } else if (link.status == BlockStatus::kUnknownType) {
      ++sound.unknown_blocks;
    } else {
      sound.end = link.offset;
      break;
    }
  }
  return sound;
}

}  // namespace plateau::reader
