// What reports print beyond analyzer/base/human_units.h: rates, intervals, sparklines, and text that fits.
//
// Pure functions. ASCII apart from sparklines.
#ifndef PLATEAU_ANALYZER_REPORT_UNITS_H_
#define PLATEAU_ANALYZER_REPORT_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

std::string HumanRate(double bytes_per_step);  // "1.20 MiB/step"
std::string HumanCount(double count);          // "1,234", "12.3 M"
std::string HumanStep(double step);            // "83"

// `width` block characters, one per stretch of `values` (their maximum), scaled from the smallest to the
// largest value, or from `floor` when it is smaller. Empty for no values.
std::string Sparkline(const std::vector<double>& values, int width,
                      std::optional<double> floor = std::nullopt);

// Columns a terminal uses for UTF-8 `text` (block characters and ASCII are one wide).
int DisplayWidth(absl::string_view text);

// Keeps at most `columns`, cutting in the middle with "..." so that the end (file and line) stays readable.
std::string MiddleEllipsis(absl::string_view text, int columns);

// The same for the name of a site, "train.py:42 in Trainer.step.<locals>.keep": the function is cut before the
// line is. Other text is cut in the middle.
std::string SiteEllipsis(absl::string_view site, int columns);

// Breaks at spaces into lines of at most `columns`; a longer word stands alone.
std::vector<std::string> WrapText(absl::string_view text, int columns);

// Control characters, escape sequences among them, become '?': names in a recording come from outside.
std::string Printable(absl::string_view text);
// Bytes that are no UTF-8 become U+FFFD.
std::string ValidUtf8(absl::string_view text);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_UNITS_H_
