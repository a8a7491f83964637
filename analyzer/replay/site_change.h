// A change of what a site holds, as those who keep series of sites are told it.
#ifndef PLATEAU_ANALYZER_REPLAY_SITE_CHANGE_H_
#define PLATEAU_ANALYZER_REPLAY_SITE_CHANGE_H_

#include <cstdint>

namespace plateau::replay {

struct SiteChange {
  enum class Kind : uint32_t {
    kAlloc,
    kGrow,      // bytes that realloc added to an object
    kFree,      // an object, or the piece of it that carries the count
    kFreePart,  // another piece, or what realloc cut off
  };

  double bytes;   // of one object
  double weight;  // how many such objects it stands for: 1 unless sampled
  uint32_t site;
  uint32_t birth;  // bucket in which the bytes were born
  Kind kind;

  bool IsBirth() const { return kind <= Kind::kGrow; }
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_SITE_CHANGE_H_
