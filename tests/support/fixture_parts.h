// What the simulated runs of report_fixtures.h have in common: a network in training, epochs and phases, the
// usual suspects, the pools. Each adds its part to a run or to the model made of it.
#ifndef PLATEAU_TESTS_SUPPORT_FIXTURE_PARTS_H_
#define PLATEAU_TESTS_SUPPORT_FIXTURE_PARTS_H_

#include <string>
#include <vector>

#include "analyzer/report/report_model.h"
#include "tests/support/run_simulator.h"

namespace plateau::report {

// The frames below the line that asked torch for a tensor, leaf last.
std::vector<Frame> TensorFrames(const std::string& op);

// A small model in training: parameters, gradients, Adam's state, activations and batches.
void AddNetwork(RunSimulator& run);

void AddEpochs(ReportModel& model, double steps_per_epoch);
void AddPhase(ReportModel& model, const std::string& kind, const std::string& label, double from, double to);
// Every hypothesis that is not named is ruled out.
void AddUsualSuspects(ReportModel& model, const std::vector<std::string>& not_ruled_out);
// The pools "host" and "files", as the model's totals and ledger have them. Last, when the verdict is there.
void AddPool(ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_TESTS_SUPPORT_FIXTURE_PARTS_H_
