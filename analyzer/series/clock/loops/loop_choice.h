// Which of the loops that were seen to go round is the clock of the program, and whether all of its rounds were seen.
//
// Level: of the loops that hold half of the events of their own window, and whose window is half of the longest or
// more, the outermost one with enough rounds. What an inner pass over data fills is then full after one round.
//
// All rounds: sampling leaves events out, and rounds with them. A stack that is always recorded tells. When its
// number of events a round hardly varies, the rounds are all there. When it varies and is rarely 0, rounds were missed,
// and the events of that stack are the rounds, if another such stack agrees or what was seen of the rounds does. Else
// the loop is thinned: it went round, nobody knows how often.
//
// Whose: a loop of a library is the program's where user's code called it (it serves that code), or where user's code runs
// inside it (it holds that code). A loop with neither, of a thread that looks after something, is no clock, however long it
// takes.
//
// Epoch: a loop of the user's around the chosen one with the same number of its rounds inside each time.
//
// Pure.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_CHOICE_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_CHOICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/series/clock/loops/loop_finder.h"

namespace plateau::series {

// What a loop is called and whose it is; asked of few.
struct LoopName {
  std::string line;          // "train.py:21"
  bool is_users = false;     // not of a library
  bool is_schedule = false;  // of an event loop or a kernel: its rounds are not the program's
};

struct LoopChoiceOptions {
  uint64_t exact_from_bytes = 0;  // a block of this size or more is always recorded
  std::function<LoopName(const LoopPlaces& places, const Loop& loop)> name_of;
  // Whether the function of a place is the user's. Without it every loop is the program's.
  std::function<bool(const Place& place)> is_users;
};

struct ChosenLoop {
  LoopName name;
  bool has_all_rounds = false;
  std::vector<uint32_t> begins;  // events at which rounds begin
  uint32_t end = 0;              // last event inside
  std::string epoch_line;
  std::vector<uint32_t> epoch_ends;  // rounds that were over when each round of that loop ended
};

// Nothing when no loop went round often enough.
std::optional<ChosenLoop> ChooseLoop(const LoopFinder& finder, const LoopChoiceOptions& options);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_CHOICE_H_
