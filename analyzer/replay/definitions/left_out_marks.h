// Draws the marks of steps that a recording left out to keep its size limit.
//
// Such a recording has groups of steps, each behind a mark kMarksLeftOut with the number of groups that are
// missing since the last such mark; there are such marks without a group too, which only count. The missing
// ones are put at equal distances between the two marks, as copies of the smallest of the last groups: that
// one has no evaluation in it that the others may not have had. Marks that are always recorded (epochs,
// phases, ends of passes) are not copied.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_LEFT_OUT_MARKS_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_LEFT_OUT_MARKS_H_

#include <vector>

#include "analyzer/replay/definitions/definitions.h"

namespace plateau::replay {

// `marks` in the order of their times, which they keep. The recording ended at `end` after `groups`; 0 when
// that is not known.
LeftOutMarks DrawLeftOutMarks(uint64_t groups, uint64_t end, std::vector<TimedMark>* marks);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_LEFT_OUT_MARKS_H_
