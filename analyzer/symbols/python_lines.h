// The line of a position in Python bytecode, from the line table of the code object.
//
//   3.6 - 3.9    co_lnotab      pairs (bytes, signed lines)
//   3.10         co_linetable   PEP 626: ranges with signed lines, -128 = no line
//   3.11 -       co_linetable   PEP 657: variable-length entries with columns
//
// Tables come from the traced process: whatever they contain, reading stays inside them and ends.
#ifndef PLATEAU_ANALYZER_SYMBOLS_PYTHON_LINES_H_
#define PLATEAU_ANALYZER_SYMBOLS_PYTHON_LINES_H_

#include <cstdint>
#include <string_view>

namespace plateau::symbols {

// `version` is major << 8 | minor, `offset` bytes into the bytecode. Falls back to the first line when the
// table says nothing.
int PythonLine(uint16_t version, int first_line, std::string_view table, uint32_t offset);

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_PYTHON_LINES_H_
