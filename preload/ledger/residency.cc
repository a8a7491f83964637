#include "preload/ledger/residency.h"

#include <errno.h>

#include <atomic>
#include <cstring>

#include "preload/base/clock.h"
#include "preload/base/page_size.h"
#include "preload/base/spin_lock.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {

using trace::RegionKind;

constexpr uint64_t kMinAgeMs = 20;  // most blocks do not live that long
constexpr uint64_t kMinChangeBytes = 64 << 10;
constexpr uint64_t kMaxScanNs = 3'000'000;
constexpr uint64_t kPauseFactor = 200;  // of the time a scan took
constexpr int kMaxRecords = 64;         // of one scan
constexpr uint8_t kMaxSkips = 3;        // scans that a region in which nothing moves is left out
constexpr uint64_t kNeverRead = UINT64_MAX;

struct Region {
  uintptr_t address;
  size_t bytes;
  uint64_t birth_tsc;
  uint64_t resident_bytes;  // as last written
  RegionKind kind;
  uint8_t skips;  // next time nothing moves
  uint8_t skips_left;

  uintptr_t end() const { return address + bytes; }
};

constinit SpinLock g_lock;
constinit Region g_regions[kMaxRegions] = {};
constinit std::atomic<size_t> g_count{0};  // written under the lock
constinit std::atomic<size_t> g_map_count{0};
constinit std::atomic<uint64_t> g_missed{0};
constinit std::atomic<ResidencyState> g_state{ResidencyState::kOpen};
constinit std::atomic<bool> g_is_reading{false};
constinit uint64_t g_next_read_tsc = 0;
constinit size_t g_cursor = 0;
constinit uint64_t g_filters = kNeverRead;

size_t Count() { return g_count.load(std::memory_order_relaxed); }

void Miss() { g_missed.fetch_add(1, std::memory_order_relaxed); }

// The following are called under the lock.

void RemoveAt(size_t i) {
  const size_t last = Count() - 1;
  if (g_regions[i].kind == RegionKind::kMap) g_map_count.fetch_sub(1, std::memory_order_relaxed);
  if (i != last) g_regions[i] = g_regions[last];
  g_count.store(last, std::memory_order_relaxed);
}

bool Add(const Region& region) {
  const size_t count = Count();
  if (count == kMaxRegions) return false;
  g_regions[count] = region;
  if (region.kind == RegionKind::kMap) g_map_count.fetch_add(1, std::memory_order_relaxed);
  g_count.store(count + 1, std::memory_order_relaxed);
  return true;
}

// Exact mode does not tell which blocks are gone. A place is taken from the oldest block that nobody has
// looked at, or from one in which nothing moves.
bool MakeRoom() {
  size_t oldest = kMaxRegions;
  for (size_t i = 0; i < Count(); ++i) {
    const Region& region = g_regions[i];
    const bool is_idle = region.resident_bytes == kNeverRead || region.skips == kMaxSkips;
    if (region.kind != RegionKind::kBlock || !is_idle) continue;
    if (oldest == kMaxRegions || region.birth_tsc < g_regions[oldest].birth_tsc) oldest = i;
  }
  if (oldest == kMaxRegions) return false;
  RemoveAt(oldest);
  return true;
}

// The place of a region that was copied from there; kMaxRegions when it is gone.
size_t PlaceOf(const Region& region, size_t hint) {
  const auto is_at = [&](size_t i) {
    return g_regions[i].address == region.address && g_regions[i].birth_tsc == region.birth_tsc &&
           g_regions[i].bytes == region.bytes;
  };
  if (hint < Count() && is_at(hint)) return hint;
  for (size_t i = 0; i < Count(); ++i) {
    if (is_at(i)) return i;
  }
  return kMaxRegions;
}

// Bytes of pages that are in memory, or the error as a negative number.
long ResidentBytes(const Region& region) {
  const uint64_t page_bytes = PageBytes();
  uint64_t words[256];  // 2048 pages at a time; threads may have small stacks
  const uintptr_t end = (region.end() + page_bytes - 1) & ~(page_bytes - 1);
  uint64_t pages = 0;
  for (uintptr_t begin = region.address & ~(page_bytes - 1); begin < end;) {
    const uint64_t left = (end - begin) / page_bytes;
    const uint64_t count = left < sizeof(words) ? left : sizeof(words);
    words[(count - 1) / 8] = 0;  // a last word that is not filled
    const long result =
        sys::Call(SYS_mincore, sys::Arg(begin), sys::Arg(count * page_bytes), sys::Arg(words));
    if (sys::Failed(result)) return result;
    for (uint64_t i = 0; i < (count + 7) / 8; ++i) {
      pages += static_cast<uint64_t>(__builtin_popcountll(words[i] & 0x0101010101010101));
    }
    begin += count * page_bytes;
  }
  const uint64_t bytes = pages * page_bytes;
  return static_cast<long>(bytes < region.bytes ? bytes : region.bytes);
}

bool HasMoved(const Region& region, uint64_t resident_bytes) {
  if (region.resident_bytes == kNeverRead) return true;
  const uint64_t change = resident_bytes > region.resident_bytes ? resident_bytes - region.resident_bytes
                                                                 : region.resident_bytes - resident_bytes;
  return change >= kMinChangeBytes || (change > 0 && resident_bytes == region.bytes);
}

// Keeps what was read of a region; returns whether it is to be written.
bool Note(const Region& read, size_t hint, uint64_t resident_bytes) {
  const SpinLockHolder holder(g_lock);
  if (!holder) return false;
  const size_t i = PlaceOf(read, hint);
  if (i == kMaxRegions) return false;
  Region& region = g_regions[i];
  const bool has_moved = HasMoved(region, resident_bytes);
  const bool is_whole = resident_bytes >= region.bytes && region.kind == RegionKind::kBlock;
  const bool is_news = has_moved && !(is_whole && region.resident_bytes == kNeverRead);
  if (has_moved) {
    region.resident_bytes = resident_bytes;
    region.skips = 0;
  } else if (region.skips < kMaxSkips) {
    ++region.skips;
  }
  region.skips_left = region.skips;
  if (is_whole) RemoveAt(i);  // a block does not lose its pages
  return is_news;
}

void Forget(const Region& region, size_t hint) {
  const SpinLockHolder holder(g_lock);
  if (!holder) return;
  const size_t i = PlaceOf(region, hint);
  if (i != kMaxRegions) RemoveAt(i);
}

// The next region that is due, and where it was; false when there is none in `steps` more places.
bool NextDue(uint64_t now, size_t* steps, Region* region, size_t* place) {
  const SpinLockHolder holder(g_lock);
  if (!holder) return false;
  for (; *steps > 0 && Count() > 0; --*steps) {
    if (g_cursor >= Count()) g_cursor = 0;
    Region& next = g_regions[g_cursor];
    const size_t at = g_cursor++;
    if (now - next.birth_tsc < TicksOfMs(kMinAgeMs)) continue;
    if (next.skips_left > 0) {
      --next.skips_left;
      continue;
    }
    --*steps;
    *region = next;
    *place = at;
    return true;
  }
  return false;
}

void ReadAll(const ResidencySink& sink, uint64_t now, uint64_t begin_ns) {
  size_t steps = Count();
  int records = 0;
  Region region;
  size_t place;
  while (records < kMaxRecords && NextDue(now, &steps, &region, &place)) {
    const long resident = ResidentBytes(region);
    if (resident == -ENOMEM) {  // a part of it is not mapped any more
      Forget(region, place);
    } else if (sys::Failed(resident)) {
      g_state.store(ResidencyState::kClosed, std::memory_order_relaxed);
      return;
    } else if (Note(region, place, static_cast<uint64_t>(resident))) {
      sink.write(sink.context, {region.kind, region.address, region.bytes, static_cast<uint64_t>(resident),
                                region.birth_tsc});
      ++records;
    }
    if (ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns > kMaxScanNs) return;
  }
}

}  // namespace

void ResetResidency() {
  g_lock.Release();
  g_count.store(0, std::memory_order_relaxed);
  g_map_count.store(0, std::memory_order_relaxed);
  g_missed.store(0, std::memory_order_relaxed);
  g_state.store(ResidencyState::kOpen, std::memory_order_relaxed);
  g_is_reading.store(false, std::memory_order_relaxed);
  g_next_read_tsc = 0;
  g_cursor = 0;
  g_filters = kNeverRead;
}

void FollowRegion(RegionKind kind, uintptr_t address, size_t bytes, uint64_t birth_tsc) {
  if (bytes < kFollowedBytes || GetResidencyState() != ResidencyState::kOpen) return;
  if (bytes > kMaxRegionBytes) return Miss();
  const Region region = {address, bytes, birth_tsc, kNeverRead, kind, 0, 0};
  const SpinLockHolder holder(g_lock);
  if (!holder) return Miss();
  for (size_t i = 0; i < Count(); ++i) {
    if (g_regions[i].address != address || g_regions[i].kind != kind) continue;
    g_regions[i] = region;
    return;
  }
  if (!Add(region) && (!MakeRoom() || !Add(region))) Miss();
}

void ForgetBlock(uintptr_t address) {
  if (Count() == 0) return;
  const SpinLockHolder holder(g_lock);
  if (!holder) return;
  for (size_t i = 0; i < Count(); ++i) {
    if (g_regions[i].address == address && g_regions[i].kind == RegionKind::kBlock) return RemoveAt(i);
  }
}

void ForgetMaps(uintptr_t address, size_t bytes) {
  if (g_map_count.load(std::memory_order_relaxed) == 0) return;
  const uintptr_t end = (address + bytes + PageBytes() - 1) & ~(PageBytes() - 1);
  const SpinLockHolder holder(g_lock);
  if (!holder) return;
  for (size_t i = Count(); i-- > 0;) {
    Region& region = g_regions[i];
    if (region.kind != RegionKind::kMap || region.end() <= address || region.address >= end) continue;
    Region tail = region;
    tail.address = end;
    tail.bytes = region.end() > end ? region.end() - end : 0;
    tail.resident_bytes = region.resident_bytes == kNeverRead ? kNeverRead : 0;
    if (region.address < address) {
      region.bytes = address - region.address;
      if (tail.bytes >= kFollowedBytes && !Add(tail)) Miss();
    } else if (tail.bytes > 0) {
      region = tail;
    } else {
      RemoveAt(i);
    }
  }
}

void MaybeReadResidency(const ResidencySink& sink) {
  const uint64_t now = Now();
  if (Count() == 0 || now < g_next_read_tsc || GetResidencyState() != ResidencyState::kOpen) return;
  if (g_is_reading.exchange(true, std::memory_order_acquire)) return;
  const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  ReadAll(sink, now, begin_ns);
  // CPU time and not the wall clock: on a busy machine a scan takes longer and costs no more.
  const uint64_t spent_us = (ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1000;
  g_next_read_tsc = now + kPauseFactor * spent_us * (TicksOfMs(1) / 1000);
  g_is_reading.store(false, std::memory_order_release);
}

ResidencyState GetResidencyState() { return g_state.load(std::memory_order_relaxed); }

void NoteSystemCallFilters(uint64_t count) {
  if (g_filters == kNeverRead) g_filters = count;
  if (count > g_filters) g_state.store(ResidencyState::kFilter, std::memory_order_relaxed);
}

uint64_t MissedRegions() { return g_missed.load(std::memory_order_relaxed); }
size_t FollowedRegions() { return Count(); }

}  // namespace plateau
