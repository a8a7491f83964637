// Everything hypotheses and patterns are matched on, gathered in one place after the verdicts are known.
//
// A plain value. What a run could not show is empty, so that a hypothesis can answer "not testable" instead
// of guessing.
#ifndef PLATEAU_ANALYZER_VERDICT_EVIDENCE_BUNDLE_H_
#define PLATEAU_ANALYZER_VERDICT_EVIDENCE_BUNDLE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/series/copy_on_write.h"
#include "analyzer/series/holding.h"
#include "analyzer/series/ledger.h"
#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/series/site_traits.h"
#include "analyzer/verdict/process_classifier.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// Who a site is. Filled by whoever has the symbols.
struct SiteInfo {
  std::string name;                 // what a reader sees: "decode (dataset.py:41)"
  std::string pool = "host";        // "host", "pinned", "device 0", "shared", ...
  std::vector<std::string> frames;  // leaf to root, functions with file and module, native and Python merged
  std::string op;                   // "aten::mm" when torch gave one
  bool is_import = false;           // the site's line imports a module, and that allocated
  // Torch operators whose results the site holds, "relu" of at::_ops::relu, from its largest stacks.
  std::vector<std::string> operators;
};

// Refers to what the caller holds of the site.
struct SiteEvidence {
  const SiteInfo& info;
  const Verdict& verdict;
  const series::SiteTraits& traits;
  double retained_bytes = 0;  // old enough to count
  double held_bytes = 0;      // all that is alive at the end
  double peak_bytes = 0;
  const series::SiteHolding* holding = nullptr;  // null: no walk asked for it

  // True when a frame, the name or the op contains one of `words` (lower case).
  bool Mentions(std::initializer_list<std::string_view> words) const;

  // The same of the few frames next to the allocation: who allocates, whoever called it.
  bool IsAllocatedIn(std::initializer_list<std::string_view> words) const;

  // True when nobody can say that what it keeps has come to an end: a leak, growth without an end, undecided.
  bool MayGoOn() const;

  // True when something stays, with no end in sight, that a forward pass made: the graph of a loss or an output is still referenced.
  bool IsKeptGraph() const;

  // True when something stays, with no end in sight, that the collator made. It hands its batches on; whoever keeps them is
  // elsewhere.
  bool IsKeptBatch() const;

  // True when the verdict says that something born during the steps is still held.
  bool Keeps() const;
};

// One of several processes of a recording, e.g. a DataLoader worker.
struct ProcessEvidence {
  int pid = 0;
  std::string role;              // "main", "dataloader worker", ...
  double heap_growth_bytes = 0;  // live bytes, end minus start
  double private_growth_bytes = 0;
  bool grows_at_epochs = false;
};

// Threads that still ran when the judged work ended, by the line that started them.
struct StartedThreads {
  std::string starter;
  double threads = 0;
};

// Bytes of a pool over the steps.
struct PoolCurve {
  std::string name;
  std::vector<double> step;
  std::vector<double> live;
  std::vector<double> live_peak;  // empty: the same as live
  std::vector<double> reserved;   // taken from the system or the device
  double limit_bytes = 0;         // 0: unknown
};

// How an overhead or a part of the ledger moved: its slope over the last two thirds, and its whole rise.
struct CurveTrend {
  Growth growth = Growth::kFlat;
  double rate_bytes_per_step = 0;
  double rise_bytes = 0;
  bool known = false;
};

// How a count (of threads, open files, mappings) moved over the steps.
struct CountTrend {
  bool known = false;
  bool is_piling_up = false;  // it rises, and still did at the end
  double first = 0;
  double last = 0;
  double rate_per_step = 0;
};

struct EvidenceBundle {
  series::RunContext run;  // in steps
  bool has_python = false;
  std::vector<SiteEvidence> sites;
  ProcessVerdict process;
  std::vector<series::LedgerSample> ledger;
  std::vector<PoolCurve> pools;  // beside the host
  std::vector<series::WorkerSeries> workers;
  std::vector<ProcessEvidence> processes;
  std::vector<series::CopiedBytes> copied;  // by workers, per site
  CurveTrend live, file, shared, own, gap, unexplained;
  CountTrend threads, open_files, mappings;
  std::vector<StartedThreads> started_threads;  // the most first

  // Bytes worth naming: 1 % of the reference.
  double Material() const;
  // What all sites together keep of what was born during the steps.
  double RetainedInSteps() const;
  // True of the site whose endless growth is the headline. It matters however little it keeps itself: its blocks
  // may hold the heap open.
  bool IsNamedByHeadline(const SiteEvidence& site) const;
};

// "threads rose from 3 to 223, 1 a step"; without the rate when the clock counts no steps.
std::string PileText(const char* what, const CountTrend& count, bool counts_steps);

// True when a word of `text`, whatever its case, begins with `lower_word`.
bool ContainsWord(std::string_view text, std::string_view lower_word);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_EVIDENCE_BUNDLE_H_
