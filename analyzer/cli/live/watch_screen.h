// What `plateau watch` draws: one screen of a run that goes on, for any size of terminal. Every line fits, and nothing is cut in the middle
// of a character.
//
// Pure functions of a report and of what the user chose; terminal_view.h draws and listens.
#ifndef PLATEAU_ANALYZER_CLI_LIVE_WATCH_SCREEN_H_
#define PLATEAU_ANALYZER_CLI_LIVE_WATCH_SCREEN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/report/report_model.h"
#include "analyzer/report/site_listing.h"

namespace plateau::cli {

struct WatchState {
  bool is_running = true;
  bool is_paused = false;
  bool shows_details = false;  // of the chosen site instead of the table
  bool color = false;
  int columns = 80;
  int rows = 24;
  size_t chosen = 0;  // a row of the table, from 0
  report::SortKey sort = report::SortKey::kGrowth;
};

// How far the verdict is: 1 when it is decided, and in words how sure.
struct Confidence {
  double share = 0;
  std::string words;
};
Confidence ConfidenceOf(const report::ReportModel& model);

// The next key of the table, for the key "s": growth, retained, peak, name.
report::SortKey NextSort(report::SortKey sort);

// The names of the sites as the table has them, for moving the choice.
std::vector<std::string> RowsOf(const report::ReportModel& model, const WatchState& state);

// At most state.rows - 1 lines of at most state.columns columns; the last line of the terminal is for the keys.
std::vector<std::string> WatchScreen(const report::ReportModel& model, const WatchState& state);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LIVE_WATCH_SCREEN_H_
