// Line tables of CPython 3.11 and later without the columns that they have for every instruction: reports
// show lines, and columns are two thirds of the bytes.
//
// The result is a table of the same format. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_LINE_TABLE_H_
#define PLATEAU_PRELOAD_PYTHON_LINE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plateau::python {

inline constexpr uint16_t kFirstVersionWithColumns = 3 << 8 | 11;

// Writes to `buffer`, which the result views. Cut after the last whole entry when that is full, or when
// `table` ends within an entry.
std::string_view WithoutColumns(std::string_view table, char* buffer, size_t capacity);

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_LINE_TABLE_H_
