#include "analyzer/verdict/evidence_bundle.h"

#include <algorithm>
#include <cctype>

namespace plateau::verdict {

bool ContainsWord(std::string_view text, std::string_view lower_word) {
  const auto found = std::search(
      text.begin(), text.end(), lower_word.begin(), lower_word.end(),
      [](char a, char b) { return static_cast<char>(std::tolower(static_cast<unsigned char>(a))) == b; });
  return found != text.end();
}

bool SiteEvidence::Mentions(std::initializer_list<std::string_view> words) const {
  for (std::string_view word : words) {
    if (ContainsWord(info.name, word) || ContainsWord(info.op, word)) return true;
    for (const std::string& frame : info.frames) {
      if (ContainsWord(frame, word)) return true;
    }
  }
  return false;
}

bool SiteEvidence::Keeps() const {
  switch (verdict.kind) {
    case VerdictKind::kSteady:
    case VerdictKind::kSpikeRecovered:
    case VerdictKind::kAllocatorRetention:
      return false;
    default:
      return retained_bytes > 0;
  }
}

double EvidenceBundle::Material() const { return 0.01 * run.Reference(); }

double EvidenceBundle::RetainedInSteps() const {
  double sum = 0;
  for (const SiteEvidence& site : sites) {
    if (site.Keeps()) sum += site.retained_bytes;
  }
  return sum;
}

}  // namespace plateau::verdict
