#include "analyzer/verdict/evidence_bundle.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {

namespace {

// "arrow" begins a word in "arrow::Buffer", "read_arrow", "ReadArrow" and "libarrow.so", but not in "narrow".
bool BeginsWord(std::string_view text, size_t at) {
  if (at == 0) return true;
  if (at >= 3 && text.substr(at - 3, 3) == "lib" && BeginsWord(text, at - 3)) return true;
  const auto before = static_cast<unsigned char>(text[at - 1]);
  const auto first = static_cast<unsigned char>(text[at]);
  return !std::isalpha(before) || (std::isupper(first) && std::islower(before));
}

// Operators that make a tensor out of nothing or copy one: inputs, not results of a forward pass.
bool MakesInputs(std::string_view name) {
  for (std::string_view maker :
       {"full", "zeros", "ones", "empty", "rand", "arange", "linspace", "eye", "tensor", "scalar_tensor",
        "from_file", "to", "_to_copy", "clone", "contiguous", "copy"}) {
    if (name == maker) return true;
    // randn, randint, full_like, empty_strided, ...
    const bool is_family =
        maker == "full" || maker == "zeros" || maker == "ones" || maker == "empty" || maker == "rand";
    if (is_family && name.starts_with(maker)) return true;
  }
  return false;
}

}  // namespace

std::string PileText(const char* what, const CountTrend& count, bool counts_steps) {
  const double first = std::round(count.first), last = std::round(count.last);
  const std::string name(what);
  if (first == last) return name + " stayed at " + NumberText(last);
  std::string text =
      name + (last > first ? " rose from " : " fell from ") + NumberText(first) + " to " + NumberText(last);
  if (counts_steps) text += ", " + NumberText(count.rate_per_step) + " a step";
  return text;
}

bool ContainsWord(std::string_view text, std::string_view lower_word) {
  if (lower_word.empty()) return true;
  if (text.size() < lower_word.size()) return false;
  const char first = lower_word[0];
  const char upper = first >= 'a' && first <= 'z' ? static_cast<char>(first - ('a' - 'A')) : first;
  const std::string_view beginnings = text.substr(0, text.size() - lower_word.size() + 1);
  const auto next = [&](size_t from) {
    const size_t small = beginnings.find(first, from);
    return upper == first ? small : std::min(small, beginnings.substr(0, small).find(upper, from));
  };
  for (size_t at = next(0); at != std::string_view::npos; at = next(at + 1)) {
    const bool equal = std::equal(
        lower_word.begin(), lower_word.end(), text.begin() + at,
        [](char w, char c) { return w == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c); });
    if (equal && BeginsWord(text, at)) return true;
  }
  return false;
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

bool SiteEvidence::IsAllocatedIn(std::initializer_list<std::string_view> words) const {
  constexpr size_t kNear = 8;
  for (size_t i = 0; i < std::min(kNear, info.frames.size()); ++i) {
    for (std::string_view word : words) {
      if (ContainsWord(info.frames[i], word)) return true;
    }
  }
  return false;
}

bool SiteEvidence::IsKeptGraph() const {
  using series::BirthPhase;
  if (!MayGoOn() || IsKeptBatch()) return false;
  if (traits.PhaseShare(BirthPhase::kEvaluation) > 0.5 || traits.PhaseShare(BirthPhase::kOptimizer) > 0.5 ||
      traits.PhaseShare(BirthPhase::kFetch) > 0.5) {
    return false;
  }
  const bool has_result = std::any_of(info.operators.begin(), info.operators.end(),
                                      [](const std::string& name) { return !MakesInputs(name); });
  if (!info.operators.empty() && !has_result) return false;
  // Parts of a graph itself. That a file of torch/autograd is on the way proves nothing: compiled code always has
  // one there.
  if (Mentions({"grad_fn", "saved_tensor", "savedvariable", "backward0", "graph_task",
                "torch::autograd::node", "engine_run_backward"}))
    return true;
  // A forward pass outside the phases Plateau knows (a second model, a probe) shows in the stack.
  const bool is_forward =
      traits.PhaseShare(BirthPhase::kForward) > 0.5 || Mentions({"_call_impl", "forward"});
  return is_forward && has_result;
}

bool SiteEvidence::IsKeptBatch() const { return MayGoOn() && Mentions({"collat"}); }

bool SiteEvidence::MayGoOn() const {
  const bool is_undecided = verdict.kind == VerdictKind::kInconclusive && retained_bytes > 0;
  return GrowsWithoutEnd(verdict.kind) || is_undecided;
}

bool SiteEvidence::Keeps() const { return RemainsKept(verdict.kind) && retained_bytes > 0; }

double EvidenceBundle::Material() const { return 0.01 * run.Reference(); }

double EvidenceBundle::RetainedInSteps() const {
  double sum = 0;
  for (const SiteEvidence& site : sites) {
    if (site.Keeps()) sum += site.retained_bytes;
  }
  return sum;
}

bool EvidenceBundle::IsNamedByHeadline(const SiteEvidence& site) const {
  return process.headline_site && &sites[*process.headline_site] == &site &&
         GrowsWithoutEnd(process.headline.kind);
}

}  // namespace plateau::verdict
