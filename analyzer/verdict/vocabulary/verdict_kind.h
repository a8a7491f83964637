// The names of all verdicts and what follows from each: how bad it is as a headline, how it is shown, whether
// a CI rule fails on it. The table itself is verdict_kinds.inc.
#ifndef PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_KIND_H_
#define PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_KIND_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plateau::verdict {

enum class VerdictKind {
#define PLATEAU_VERDICT(enumerator, name, rank, tone, is_leak, words) enumerator,
#include "analyzer/verdict/vocabulary/verdict_kinds.inc"
#undef PLATEAU_VERDICT
};

// How a verdict is shown, from harmless to bad.
enum class Tone { kFine, kNote, kOpen, kGrows };

struct VerdictRow {
  VerdictKind kind;
  std::string_view name;  // "warmup_complete": what scripts rely on
  int rank;               // as a headline; smaller is worse
  Tone tone;
  bool is_leak;
  std::string_view words;
};

// All verdicts, in the order of the enum.
std::span<const VerdictRow> AllVerdicts();
const VerdictRow& RowOf(VerdictKind kind);

inline std::string_view VerdictName(VerdictKind kind) { return RowOf(kind).name; }

// Growth without an end in sight: what a CI rule fails on.
inline bool IsLeak(VerdictKind kind) { return RowOf(kind).is_leak; }

// A leak, or growth that went on to the end and of which nobody can say that it is one.
inline bool GrowsWithoutEnd(VerdictKind kind) {
  return IsLeak(kind) || kind == VerdictKind::kUnboundedGrowth;
}

// How severe a verdict is as a headline; smaller is worse.
inline int SeverityRank(VerdictKind kind) { return RowOf(kind).rank; }

// The verdict of a name in upper or lower case. Empty when there is no such verdict.
std::optional<VerdictKind> ParseVerdict(std::string_view name);

// "WARMUP COMPLETE", for the top of a card.
std::string VerdictTitle(std::string_view name);

// The tone of a verdict by its name; kNote for a name from a newer version, kFine for none.
Tone ToneOf(std::string_view name);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_KIND_H_
