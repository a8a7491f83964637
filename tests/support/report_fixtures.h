// Report models of training runs that never happened, consistent to the byte, for tests of whatever is made
// from a model.
//
// Each is simulated step by step: sites retain and free, the ledger follows, ages and survivors are counted,
// and the totals are sums of the parts. Deterministic: the same call gives the same model.
#ifndef PLATEAU_TESTS_SUPPORT_REPORT_FIXTURES_H_
#define PLATEAU_TESTS_SUPPORT_REPORT_FIXTURES_H_

#include <string>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

ReportModel LeakModel();    // losses kept with their graphs, 1.2 MiB a step
ReportModel WarmupModel();  // allocator and primitive caches fill in the first 40 steps
ReportModel
CacheFillModel();  // 663 decoded images kept during the first epoch: the story the project came from
ReportModel FragmentationModel();  // the allocator holds what nobody uses
ReportModel InconclusiveModel();   // the cache fill stopped at step 70
ReportModel SteadyModel();
ReportModel StaircaseModel();  // every evaluation of 6,000 steps keeps its predictions
ReportModel KilledModel();     // growth without an end, killed for want of memory
ReportModel RanksModel();      // a job of eight, of which one leaks
ReportModel HostileModel();    // LeakModel with names that try to break out of every format

// `steps` ledger readings and `stacks` distinct stacks: what a long run with a large program looks like.
ReportModel BigModel(int steps, int stacks);

// All the named ones above, with their names.
std::vector<std::pair<std::string, ReportModel>> AllModels();

}  // namespace plateau::report

#endif  // PLATEAU_TESTS_SUPPORT_REPORT_FIXTURES_H_
