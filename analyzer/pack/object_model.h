// The objects born in a packed block: which are alive, in the order of birth and in classes, and which of
// them is freed next.
//
// Memory: about 80 bytes for each object born.
#ifndef PLATEAU_ANALYZER_PACK_OBJECT_MODEL_H_
#define PLATEAU_ANALYZER_PACK_OBJECT_MODEL_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/pack/mixed_model.h"

namespace plateau {

// A set of the numbers 0, 1, 2, ... that knows how many of its members are larger than one. A number is added
// at the end and removed anywhere, both at once; asking costs three short walks.
class RankSet {
 public:
  uint32_t Add() {
    const uint32_t number = size_++;
    if (number % kWord == 0) words_.push_back(0);
    if (number % kGroup == 0) groups_.push_back(0);
    if (number % kRegion == 0) regions_.push_back(0);
    words_.back() |= uint64_t{1} << number % kWord;
    ++groups_.back();
    ++regions_.back();
    ++members_;
    return number;
  }
  void Remove(uint32_t number) {
    words_[number / kWord] &= ~(uint64_t{1} << number % kWord);
    --groups_[number / kGroup];
    --regions_[number / kRegion];
    --members_;
  }
  uint32_t members() const { return members_; }
  bool Contains(uint32_t number) const {
    return number < size_ && (words_[number / kWord] >> number % kWord & 1) != 0;
  }
  // How many members are larger than `number`.
  uint32_t RankOf(uint32_t number) const {
    const uint32_t word = number / kWord, group = number / kGroup, region = number / kRegion;
    uint32_t rank = static_cast<uint32_t>(std::popcount(words_[word] >> number % kWord >> 1));
    const size_t last_word = std::min<size_t>((group + 1) * (kGroup / kWord), words_.size());
    for (size_t i = word + 1; i < last_word; ++i) rank += static_cast<uint32_t>(std::popcount(words_[i]));
    const size_t last_group = std::min<size_t>((region + 1) * (kRegion / kGroup), groups_.size());
    for (size_t i = group + 1; i < last_group; ++i) rank += groups_[i];
    for (size_t i = region + 1; i < regions_.size(); ++i) rank += regions_[i];
    return rank;
  }
  // The member that `rank` others are larger than; rank < members().
  uint32_t Select(uint32_t rank) const {
    size_t region = regions_.size() - 1;
    while (rank >= regions_[region]) rank -= regions_[region--];
    size_t group = std::min<size_t>((region + 1) * (kRegion / kGroup), groups_.size()) - 1;
    while (rank >= groups_[group]) rank -= groups_[group--];
    size_t word = std::min<size_t>((group + 1) * (kGroup / kWord), words_.size()) - 1;
    for (uint32_t n; rank >= (n = static_cast<uint32_t>(std::popcount(words_[word]))); --word) rank -= n;
    uint64_t bits = words_[word];
    for (; rank > 0; --rank) bits &= ~(uint64_t{1} << (kWord - 1 - std::countl_zero(bits)));
    return static_cast<uint32_t>(word) * kWord + kWord - 1 - static_cast<uint32_t>(std::countl_zero(bits));
  }

 private:
  static constexpr uint32_t kWord = 64, kGroup = kWord * 64, kRegion = kGroup * 64;

  std::vector<uint64_t> words_;
  std::vector<uint32_t> groups_;
  std::vector<uint32_t> regions_;
  uint32_t size_ = 0;
  uint32_t members_ = 0;
};

enum class Heap : uint8_t { kMalloc, kPymalloc };

inline constexpr uint32_t kNoObject = UINT32_MAX;

class ObjectModel {
 public:
  struct Object {
    uint64_t address;
    uint64_t bytes;
    uint32_t class_id;
    uint32_t older, newer;             // alive and of the same class
    uint32_t born_before, born_after;  // alive and of any class
    Heap heap;
    uint8_t slack;  // see MallocCodec
  };
  // Objects of one size that one line of code makes.
  struct Class {
    uint32_t newest = kNoObject;
    uint32_t oldest = kNoObject;
    uint32_t next = kNoObject;  // born after the one freed last
    bool frees_newest = true;   // so it was the last time
  };

  uint32_t ClassOf(uint64_t bytes, uint64_t place, Heap heap) {
    const auto [it, is_new] = class_ids_.try_emplace(HashOf(bytes, place, static_cast<uint64_t>(heap)),
                                                     static_cast<uint32_t>(classes_.size()));
    if (is_new) classes_.emplace_back();
    return it->second;
  }
  size_t class_count() const { return classes_.size(); }
  const Object& Get(uint32_t object) const { return objects_[object]; }
  uint32_t live() const { return live_.members(); }
  bool IsAlive(uint32_t object) const { return live_.Contains(object); }

  void OnAlloc(uint64_t address, uint64_t bytes, uint32_t class_id, Heap heap, uint8_t slack,
               bool index_by_address) {
    const uint32_t object = live_.Add();
    Class& c = classes_[class_id];
    objects_.push_back({address, bytes, class_id, c.newest, kNoObject, newest_, kNoObject, heap, slack});
    if (newest_ != kNoObject) objects_[newest_].born_after = object;
    if (next_newer_ == kNoObject) next_newer_ = object;
    newest_ = object;
    if (c.newest != kNoObject) {
      objects_[c.newest].newer = object;
    } else {
      c.oldest = object;
    }
    c.newest = object;
    if (c.next == kNoObject) c.next = object;
    if (index_by_address) by_address_[Key(address, heap)] = object;
  }
  // Packer only: the object alive at `address`, or kNoObject.
  uint32_t Find(uint64_t address, Heap heap) const {
    const auto it = by_address_.find(Key(address, heap));
    return it == by_address_.end() || objects_[it->second].address != address ? kNoObject : it->second;
  }
  void OnFree(uint32_t object, bool is_indexed) {
    const Object& o = objects_[object];
    Class& c = classes_[o.class_id];
    // A class of one says nothing about order.
    if (c.newest != c.oldest) c.frees_newest = object == c.newest;
    (o.newer == kNoObject ? c.newest : objects_[o.newer].older) = o.older;
    (o.older == kNoObject ? c.oldest : objects_[o.older].newer) = o.newer;
    c.next = o.newer;
    if (is_indexed) {
      const auto it = by_address_.find(Key(o.address, o.heap));
      if (it != by_address_.end() && it->second == object) by_address_.erase(it);
    }
    if (o.born_after == kNoObject) {
      newest_ = o.born_before;
    } else {
      objects_[o.born_after].born_before = o.born_before;
    }
    if (o.born_before != kNoObject) objects_[o.born_before].born_after = o.born_after;
    next_newer_ = o.born_after;
    next_older_ = o.born_before;
    live_.Remove(object);
  }

  // The object of a class that is probably freed next, or kNoObject.
  uint32_t Next(uint32_t class_id) const {
    const Class& c = classes_[class_id];
    return c.frees_newest ? c.newest : c.next != kNoObject ? c.next : c.oldest;
  }
  // Born next after, or just before, the one freed last; the youngest of all.
  uint32_t next_newer() const { return next_newer_; }
  uint32_t next_older() const { return next_older_; }
  uint32_t newest() const { return newest_; }
  uint32_t RankOf(uint32_t object) const { return live_.RankOf(object); }
  uint32_t Select(uint32_t rank) const { return live_.Select(rank); }

 private:
  static uint64_t Key(uint64_t address, Heap heap) { return address << 1 | static_cast<uint64_t>(heap); }

  std::vector<Object> objects_;
  std::vector<Class> classes_;
  absl::flat_hash_map<uint64_t, uint32_t> class_ids_;
  absl::flat_hash_map<uint64_t, uint32_t> by_address_;
  RankSet live_;
  uint32_t newest_ = kNoObject;
  uint32_t next_newer_ = kNoObject;
  uint32_t next_older_ = kNoObject;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_OBJECT_MODEL_H_
