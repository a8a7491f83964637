#include "analyzer/verdict/cases/verdict_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/verdict/method/curves/curve_classifier.h"
#include "analyzer/verdict/method/site_classifier.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

constexpr double kTolerance = 0.10;

}  // namespace

CaseResult RunCase(const VerdictCase& verdict_case) {
  CaseResult result;
  switch (verdict_case.tier) {
    case CaseTier::kSite:
      result.verdict = ClassifySite(verdict_case.site, verdict_case.run);
      break;
    case CaseTier::kCurve:
      result.verdict = ClassifyCurve(verdict_case.curve, verdict_case.run);
      break;
    case CaseTier::kProcess: {
      const series::RunContext run = WithReference(verdict_case.run, verdict_case.process);
      std::vector<SiteFinding> findings;
      for (const series::SiteSeries& site : verdict_case.sites) {
        Verdict verdict = ClassifySite(site, run);
        const Estimate growth = verdict.rate_bytes_per_step.value_or(RecentRetention(site, verdict));
        Explain(run, &verdict);
        result.sites.push_back(verdict);
        findings.push_back(FindingOf(site, std::move(verdict), growth));
      }
      result.process = ClassifyProcess(findings, verdict_case.process, run);
      Explain(run, &result.process->headline);
      result.verdict = result.process->headline;
      return result;
    }
  }
  Explain(verdict_case.run, &result.verdict);
  if (verdict_case.unit != "step") {
    // Advice about epochs cannot be followed where there are no steps.
    result.verdict.sentence = result.verdict.reason == Reason::kEpochUnknown
                                  ? "Grows to the end of the log. A log without steps cannot tell a leak "
                                    "from a cache that is not full "
                                    "yet; a trace can."
                                  : InUnits(result.verdict.sentence, verdict_case.unit);
  }
  return result;
}

void Score::Add(const VerdictCase& verdict_case, const CaseResult& result) {
  ++cases;
  if (!verdict_case.arrays_match) {
    ++arrays_off;
    complaints.push_back(verdict_case.id + ": the accumulated arrays differ from the expected ones");
  }
  if (!verdict_case.expected) return;
  const Expectation& expected = *verdict_case.expected;
  ++with_expectation;
  const VerdictKind said = result.verdict.kind;
  const std::string name(VerdictName(said));
  if (std::find(expected.accept.begin(), expected.accept.end(), said) != expected.accept.end()) {
    ++right;
  } else if (expected.hard) {
    ++hard;
  } else {
    std::string wanted;
    for (VerdictKind kind : expected.accept)
      wanted += (wanted.empty() ? "" : " or ") + std::string(VerdictName(kind));
    complaints.push_back(verdict_case.id + ": " + name + ", expected " + wanted);
  }
  if (expected.leak.has_value() && !*expected.leak && IsLeak(said)) {
    ++false_leaks;
    complaints.push_back(verdict_case.id + ": FALSE LEAK (" + name + ")");
  }
  const auto check = [&](const char* what, const std::optional<double>& wanted,
                         const std::optional<Estimate>& got) {
    if (!wanted) return;
    ++numbers_checked;
    if (got && std::abs(got->value - *wanted) <= kTolerance * std::abs(*wanted)) return;
    ++numbers_off;
    complaints.push_back(verdict_case.id + ": " + what + " is " +
                         (got ? std::to_string(got->value) : "missing") + ", reference " +
                         std::to_string(*wanted));
  };
  check("rate", expected.rate_bytes_per_step, result.verdict.rate_bytes_per_step);
  check("plateau", expected.plateau_bytes, result.verdict.plateau_bytes);
  check("knee", expected.knee_step, result.verdict.knee_step);
}

}  // namespace plateau::verdict
