// The verdict card: what `run` and `report` print, and what people paste into bug reports.
//
// About 25 lines of the width that the caller gives; no sentence is cut: verdict, curves, why, who holds it, what it will do, what was ruled
// out, what to do next, how it was recorded. Sections without content are left out. Strings from the
// recording are made printable first.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_CARD_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_CARD_H_

#include <string>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct CardOptions {
  bool color = false;  // ANSI colours; the caller knows whether this is a terminal
  int columns = 80;
  int top_sites = 3;
};

std::string WriteCard(const ReportModel& model, const CardOptions& options = {});

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_CARD_H_
