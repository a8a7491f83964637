#include "analyzer/verdict/vocabulary/verdict_kind.h"

#include <array>
#include <cctype>
#include <cstddef>

namespace plateau::verdict {
namespace {

constexpr std::array kRows = {
#define PLATEAU_VERDICT(enumerator, name, rank, tone, is_leak, words) \
  VerdictRow{VerdictKind::enumerator, name, rank, Tone::tone, is_leak, words},
#include "analyzer/verdict/vocabulary/verdict_kinds.inc"
#undef PLATEAU_VERDICT
};

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
char Upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

}  // namespace

std::span<const VerdictRow> AllVerdicts() { return kRows; }

const VerdictRow& RowOf(VerdictKind kind) { return kRows[static_cast<size_t>(kind)]; }

std::optional<VerdictKind> ParseVerdict(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = Lower(c);
  for (const VerdictRow& row : kRows) {
    if (row.name == lower) return row.kind;
  }
  return std::nullopt;
}

std::string VerdictTitle(std::string_view name) {
  std::string title(name);
  for (char& c : title) c = c == '_' ? ' ' : Upper(c);
  return title;
}

Tone ToneOf(std::string_view name) {
  if (name.empty()) return Tone::kFine;
  const std::optional<VerdictKind> kind = ParseVerdict(name);
  return kind ? RowOf(*kind).tone : Tone::kNote;
}

}  // namespace plateau::verdict
