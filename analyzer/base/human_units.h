// Numbers as people read and type them: "1.5 MiB", "2.4 M", "3 min 20 s", and back.
//
// Pure functions; failure to parse is an empty optional.
#ifndef PLATEAU_ANALYZER_BASE_HUMAN_UNITS_H_
#define PLATEAU_ANALYZER_BASE_HUMAN_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/interval.h"

namespace plateau {

// Binary units with three significant digits: "0 B", "999 B", "1.50 KiB", "-3.20 GiB".
std::string FormatBytes(double bytes);

// "1.10-1.30 MiB": one unit for both ends; "-1.00 to 2.00 KiB" when the lower end is negative.
std::string FormatByteInterval(const Interval& bytes);

// Decimal units: "12", "1.20 k", "3.40 M".
std::string FormatCount(double count);

// "1 block", "2 blocks", "1.20 k blocks".
std::string Counted(uint64_t count, const char* noun);

// "850 ms", "12.3 s", "3 min 20 s", "2 h 05 min".
std::string FormatDuration(double seconds);

// "4096", "64k", "64K", "64KiB", "1.5 GiB", "2M", "10GB" (decimal with a B and no i). Not negative.
std::optional<uint64_t> ParseBytes(std::string_view text);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_HUMAN_UNITS_H_
