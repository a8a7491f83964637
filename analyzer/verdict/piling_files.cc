#include "analyzer/verdict/piling_files.h"

#include <cstddef>

#include "analyzer/verdict/honesty.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {

bool OpensFiles(const SiteEvidence& site) {
  return site.IsAllocatedIn({"_io_open", "_io_fileio", "_io_buffered", "fopen", "fdopen", "sqlite3_open",
                             "sock_new", "sock_initobj", "socketpair"});
}

void JudgePilingFiles(const EvidenceBundle& evidence, PoolContext* host, std::vector<SiteAnalysis>* sites) {
  if (!evidence.open_files.is_piling_up || !evidence.run.CountsSteps()) return;
  for (size_t i = 0; i < host->sites.size(); ++i) {
    SiteFinding& finding = host->findings[i];
    const Verdict& verdict = finding.verdict;
    const bool lacks_samples =
        verdict.kind == VerdictKind::kInconclusive &&
        (verdict.reason == Reason::kFewSamples || verdict.reason == Reason::kShapesNotSeparable);
    // The count says that it goes on to the end, so the whole run may say how fast.
    const Estimate lately = SurestGrowth(finding);
    const Estimate growth = LowOf(lately) > 0 ? lately : finding.growth_over_run_bytes_per_step;
    if (!lacks_samples || growth.value <= 0 || LowOf(growth) <= 0) continue;
    if (!OpensFiles(evidence.sites[host->sites[i]])) continue;
    SiteAnalysis& site = (*sites)[host->sites[i]];
    site.verdict.kind = VerdictKind::kUnboundedGrowth;
    site.verdict.reason = Reason::kNone;
    site.verdict.needs_steps.reset();
    site.verdict.rate_bytes_per_step = growth;
    site.verdict.why = "it opens files that stay open: " +
                       PileText("open files", evidence.open_files, /*counts_steps=*/true);
    Explain(host->run, &site.verdict);
    finding.verdict = site.verdict;
    finding.growth_bytes_per_step = site.growth_bytes_per_step = growth;
  }
}

}  // namespace plateau::verdict
