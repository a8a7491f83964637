// What a GlibcModel knows, as part of a packed block: the chunks that were free when the block began.
//
// Decoding takes bytes from anywhere and makes no more than kMostChunks chunks, none of which overlap.
#ifndef PLATEAU_ANALYZER_PACK_GLIBC_STATE_H_
#define PLATEAU_ANALYZER_PACK_GLIBC_STATE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/pack/free_chunks.h"
#include "analyzer/pack/glibc_model.h"
#include "analyzer/pack/mixed_model.h"
#include "preload/trace/varint.h"

namespace plateau {

template <typename Coder>
class GlibcStateCodec {
 public:
  static constexpr size_t kMostChunks = 1 << 20;

  explicit GlibcStateCodec(Coder* coder) : coder_(*coder) {}

  // Writes *model, which must be settled, or reads into it; then it must be new. False at damage, or when it
  // knows more than may be written: what is written then cannot be read.
  bool Code(GlibcModel* model) {
    CodeStart(&model->top_);
    model->top_end_ = model->top_ + CodeBytes(model->top_end_ - model->top_, kSize);
    model->map_from_ = CodeBytes(model->map_from_, kSize);
    model->trim_from_ = CodeBytes(model->trim_from_, kSize);
    CodeStart(&model->remainder_);
    CodeStart(&model->held_.start);
    model->held_.bytes = CodeBytes(model->held_.bytes, kSize);
    if (!GlibcModel::IsPossible(model->held_.start) || model->held_.bytes > 2 * GlibcModel::kMostBytes)
      return false;
    for (GlibcModel::Cache& cache : model->caches_) {
      cache.count = static_cast<size_t>(numbers_.Number(coder_, cache.count, kCachedCount));
      if (cache.count > GlibcModel::kMostCached) return false;
      for (size_t i = 0; i < cache.count; ++i) CodeStart(&cache.starts[i]);
    }
    model->has_fast_ = false;
    for (std::vector<uint64_t>& fast : model->fast_) {
      size_t count = fast.size();
      if (!CodeCount(&count)) return false;
      fast.resize(count);
      for (uint64_t& start : fast) CodeStart(&start);
      model->has_fast_ |= count > 0;
    }
    for (uint32_t bin = FreeChunks::kUnsorted; bin < FreeChunks::kBins; ++bin) {
      if (!CodeBin(model->free_, bin)) return false;
    }
    model->free_ = std::move(coded_);
    return true;
  }

 private:
  enum NumberContext : size_t { kSize, kStart, kCachedCount, kCount, kBytes, kNumberCount };

  bool CodeCount(size_t* count) {
    *count = static_cast<size_t>(numbers_.Number(coder_, *count, kCount));
    if (*count > kMostChunks - chunks_) return false;
    chunks_ += *count;
    return true;
  }
  uint64_t CodeBytes(uint64_t bytes, size_t context) {
    return numbers_.Number(coder_, bytes / 16, context) * 16;
  }
  void CodeStart(uint64_t* start) {
    const int64_t units = static_cast<int64_t>(*start - last_) / 16;
    *start = last_ +=
        static_cast<uint64_t>(trace::UnZigZag(numbers_.Number(coder_, trace::ZigZag(units), kStart))) * 16;
  }
  // From its back to its front.
  bool CodeBin(const FreeChunks& chunks, uint32_t bin) {
    std::vector<FreeChunks::Chunk> listed;
    for (uint32_t id = chunks.Back(bin); id >= FreeChunks::kBins; id = chunks.Get(id).before)
      listed.push_back(chunks.Get(id));
    size_t count = listed.size();
    if (!CodeCount(&count)) return false;
    for (size_t i = 0; i < count; ++i) {
      FreeChunks::Chunk chunk = Coder::kEncodes ? listed[i] : FreeChunks::Chunk();
      const bool has_one_size = bin != FreeChunks::kUnsorted && bin < FreeChunks::kLarge / 16;
      CodeStart(&chunk.start);
      chunk.bytes = has_one_size ? bin * 16 : CodeBytes(chunk.bytes, kBytes);
      if constexpr (!Coder::kEncodes) {
        if (coder_.overrun()) return false;
      }
      if (!Add(chunk, bin)) return false;
    }
    return true;
  }
  bool Add(const FreeChunks::Chunk& chunk, uint32_t bin) {
    if (!GlibcModel::IsPossible(chunk.start) || chunk.bytes < GlibcModel::kLeast ||
        chunk.bytes > 2 * GlibcModel::kMostBytes ||
        (bin != FreeChunks::kUnsorted && bin != FreeChunks::BinOf(chunk.bytes))) {
      return false;
    }
    const uint32_t next = coded_.NotBefore(chunk.start);
    if (next != FreeChunks::kNone && coded_.Get(next).start < chunk.start + chunk.bytes) return false;
    coded_.AddFront(bin, chunk.start, chunk.bytes);
    return true;
  }

  Coder& coder_;
  NumberModel numbers_{kNumberCount};
  FreeChunks coded_;
  uint64_t last_ = 0;
  size_t chunks_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_GLIBC_STATE_H_
