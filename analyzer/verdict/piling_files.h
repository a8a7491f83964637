// Open files that pile up, as evidence for the line that opens them.
//
// A file that stays open holds buffers of 4 to 8 KiB, of which sampling sees few: the line is undecided then. The
// number of open files is exact. Where it rises to the end, a line that opens files and surely grows does so because
// they stay open, and nothing has ended it: unbounded_growth. No count makes growth where none was seen, and none
// makes a leak.
#ifndef PLATEAU_ANALYZER_VERDICT_PILING_FILES_H_
#define PLATEAU_ANALYZER_VERDICT_PILING_FILES_H_

#include <vector>

#include "analyzer/verdict/analysis.h"
#include "analyzer/verdict/evidence_bundle.h"
#include "analyzer/verdict/site_judging.h"

namespace plateau::verdict {

// Whether what the site allocates belongs to an open file or socket.
bool OpensFiles(const SiteEvidence& site);

// Of `host`, and of all sites; `evidence` refers to the latter.
void JudgePilingFiles(const EvidenceBundle& evidence, PoolContext* host, std::vector<SiteAnalysis>* sites);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PILING_FILES_H_
