// Simulates a training run at the level of sites and steps and fills the numbers of a ReportModel from it.
//
//   RunSimulator run(120);
//   run.Add({.function = "collate", .file = "data.py", .line = 12, .keep = [](int step) { return step <= 83 ?
//   21e6 : 0; }}); ReportModel model = run.Finish();
#ifndef PLATEAU_TESTS_SUPPORT_RUN_SIMULATOR_H_
#define PLATEAU_TESTS_SUPPORT_RUN_SIMULATOR_H_

#include <functional>
#include <string>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct SimulatedSite {
  std::string function;
  std::string file;
  int line = 0;
  std::string module = "python3";
  std::string kind = "python";
  std::string pool = "host";
  std::string phase = "forward";
  std::string category = "other";
  std::string source_line;
  std::string verdict = "steady";
  std::string evidence;
  std::vector<Frame> callees;                                  // below the user's line, towards malloc
  std::function<double(int)> keep = [](int) { return 0.0; };   // bytes born in this step that are never freed
  std::function<double(int)> churn = [](int) { return 0.0; };  // bytes born and freed in this step
  double object_bytes = 1 << 20;
  bool tensors = false;
};

class RunSimulator {
 public:
  explicit RunSimulator(int steps) : steps_(steps) {}

  void Add(SimulatedSite site) { sites_.push_back(std::move(site)); }

  double baseline_rss = 380e6;                                // interpreter and libraries
  std::function<double(int)> gap = [](int) { return 60e6; };  // allocator-held, nobody's
  std::function<double(int)> files = [](int) { return 210e6; };
  double seconds_per_step = 1.1;

  ReportModel Finish() const;

 private:
  int steps_;
  std::vector<SimulatedSite> sites_;
};

}  // namespace plateau::report

#endif  // PLATEAU_TESTS_SUPPORT_RUN_SIMULATOR_H_
