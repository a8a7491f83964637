// Free chunks of a heap as glibc keeps them: in lists, each a bin, and found by where they lie.
//
// A list has a front, where a chunk that was freed is put, and a back, where malloc takes one. Chunks never
// overlap. Memory: about 50 bytes for each chunk.
#ifndef PLATEAU_ANALYZER_PACK_FREE_CHUNKS_H_
#define PLATEAU_ANALYZER_PACK_FREE_CHUNKS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"

namespace plateau {

class FreeChunks {
 public:
  static constexpr uint32_t kNone = 0;
  static constexpr uint32_t kUnsorted = 1;  // bin of chunks that wait for their own
  static constexpr uint32_t kBins = 128;
  static constexpr uint64_t kLarge = 1024;  // from here on bins hold several sizes, the largest in front

  struct Chunk {
    uint64_t start, bytes;
    uint32_t before, behind;  // in its list, towards the front and the back
    uint32_t bin;
  };

  FreeChunks() : chunks_(kBins) {
    for (uint32_t bin = 0; bin < kBins; ++bin) chunks_[bin] = {0, 0, bin, bin, bin};
  }

  static uint32_t BinOf(uint64_t bytes) {
    const auto bin = [bytes](uint64_t first, int shift) {
      return static_cast<uint32_t>(first + (bytes >> shift));
    };
    return bytes < kLarge      ? bin(0, 4)
           : bytes >> 6 <= 48  ? bin(48, 6)
           : bytes >> 9 <= 20  ? bin(91, 9)
           : bytes >> 12 <= 10 ? bin(110, 12)
           : bytes >> 15 <= 4  ? bin(119, 15)
           : bytes >> 18 <= 2  ? bin(124, 18)
                               : 126;
  }

  const Chunk& Get(uint32_t id) const { return chunks_[id]; }
  uint32_t Back(uint32_t bin) const { return IdOrNone(chunks_[bin].before); }
  bool IsAlone(uint32_t id) const { return chunks_[id].before == chunks_[id].behind; }
  // The first bin behind `bin` that has chunks, or kBins.
  uint32_t NextBin(uint32_t bin) const {
    for (size_t word = (bin + 1) / 64; word < 2; ++word) {
      const uint64_t bits =
          used_[word] & (word == (bin + 1) / 64 ? ~uint64_t{0} << (bin + 1) % 64 : ~uint64_t{0});
      if (bits != 0) return static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
    }
    return kBins;
  }
  // Of a bin of several sizes: the smallest that has `bytes`; of equals the second, so that the first can
  // stay.
  uint32_t BestFit(uint32_t bin, uint64_t bytes) const {
    uint32_t id = chunks_[bin].before;
    int steps = 0;
    while (id != bin && chunks_[id].bytes < bytes && ++steps < kMostSteps) id = chunks_[id].before;
    if (id == bin || chunks_[id].bytes < bytes) return kNone;
    uint32_t second = id;
    while (++steps < kMostSteps && chunks_[id].before != bin &&
           chunks_[chunks_[id].before].bytes == chunks_[id].bytes) {
      second = id;
      id = chunks_[id].before;
    }
    return second;
  }

  void AddFront(uint32_t bin, uint64_t start, uint64_t bytes) { Add(bin, start, bytes, chunks_[bin].behind); }
  void AddBack(uint32_t bin, uint64_t start, uint64_t bytes) { Add(bin, start, bytes, bin); }
  // From the unsorted ones to its own bin.
  void Sort(uint32_t id) {
    Unlink(id);
    const uint64_t bytes = chunks_[id].bytes;
    const uint32_t bin = BinOf(bytes);
    uint32_t behind = chunks_[bin].behind;
    if (bytes >= kLarge) {
      if (chunks_[bin].before != bin && bytes < chunks_[chunks_[bin].before].bytes) {
        behind = bin;
      } else {
        int steps = 0;
        while (behind != bin && chunks_[behind].bytes > bytes && ++steps < kMostSteps)
          behind = chunks_[behind].behind;
        if (behind != bin && chunks_[behind].bytes == bytes) behind = chunks_[behind].behind;
      }
    }
    Link(id, bin, behind);
  }
  void Remove(uint32_t id) {
    by_end_.erase(EndOf(id));
    Unlink(id);
    unused_.push_back(id);
  }
  // Moves its beginning; it stays where it is in its list, in a bin that may not be its own.
  void SetStart(uint32_t id, uint64_t start) {
    chunks_[id].bytes = EndOf(id) - start;
    chunks_[id].start = start;
  }
  void MoveToUnsorted(uint32_t id) {
    Unlink(id);
    Link(id, kUnsorted, chunks_[kUnsorted].behind);
  }

  // The first chunk that is not wholly before `address`, or kNone.
  uint32_t NotBefore(uint64_t address) const {
    const auto it = by_end_.upper_bound(address);
    return it == by_end_.end() ? kNone : it->second;
  }
  // Adds what lies between to the unsorted ones, as one with its neighbours, and returns the bytes of all. 0:
  // some of it is free already, and nothing was done.
  uint64_t Merge(uint64_t start, uint64_t end) {
    auto it = by_end_.lower_bound(start);
    const auto before = it;
    const bool has_before = it != by_end_.end() && it->first == start;
    if (has_before) ++it;
    const uint32_t behind = it == by_end_.end() ? kNone : it->second;
    if (behind != kNone && chunks_[behind].start < end) return 0;
    if (has_before) {
      start = chunks_[before->second].start;
      Unlink(before->second);
      unused_.push_back(before->second);
      it = by_end_.erase(before);
    }
    uint32_t id = behind;
    if (behind != kNone && chunks_[behind].start == end) {
      SetStart(id, start);
      Unlink(id);
    } else {
      id = NewChunk(start, end - start);
      by_end_.emplace_hint(it, end, id);
    }
    Link(id, kUnsorted, chunks_[kUnsorted].behind);
    return chunks_[id].bytes;
  }
  // Removes the chunk that ends at `end`; returns where it began, or `end` when there is none.
  uint64_t TakeEndingAt(uint64_t end) {
    const auto it = by_end_.find(end);
    if (it == by_end_.end()) return end;
    const uint64_t start = chunks_[it->second].start;
    Remove(it->second);
    return start;
  }

 private:
  static constexpr int kMostSteps = 1000;  // that are worth it, in a list

  uint64_t EndOf(uint32_t id) const { return chunks_[id].start + chunks_[id].bytes; }
  uint32_t IdOrNone(uint32_t id) const { return id < kBins ? kNone : id; }
  uint32_t NewChunk(uint64_t start, uint64_t bytes) {
    uint32_t id = static_cast<uint32_t>(chunks_.size());
    if (unused_.empty()) {
      chunks_.emplace_back();
    } else {
      id = unused_.back();
      unused_.pop_back();
    }
    chunks_[id] = {start, bytes, kNone, kNone, kNone};
    return id;
  }
  void Add(uint32_t bin, uint64_t start, uint64_t bytes, uint32_t behind) {
    const uint32_t id = NewChunk(start, bytes);
    by_end_[start + bytes] = id;
    Link(id, bin, behind);
  }
  void Link(uint32_t id, uint32_t bin, uint32_t behind) {
    const uint32_t before = chunks_[behind].before;
    chunks_[id].before = before;
    chunks_[id].behind = behind;
    chunks_[id].bin = bin;
    chunks_[before].behind = id;
    chunks_[behind].before = id;
    used_[bin / 64] |= uint64_t{1} << bin % 64;
  }
  void Unlink(uint32_t id) {
    const Chunk& chunk = chunks_[id];
    chunks_[chunk.before].behind = chunk.behind;
    chunks_[chunk.behind].before = chunk.before;
    if (chunks_[chunk.bin].before == chunk.bin) used_[chunk.bin / 64] &= ~(uint64_t{1} << chunk.bin % 64);
  }

  std::vector<Chunk> chunks_;  // the first are the ends of the lists
  std::vector<uint32_t> unused_;
  absl::btree_map<uint64_t, uint32_t> by_end_;
  uint64_t used_[2] = {};
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_FREE_CHUNKS_H_
