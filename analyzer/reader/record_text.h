// One record as one line of text, for `plateau dump` and for tests that compare traces.
//
//   @1200 alloc address=0x7f0010 bytes=10001 stack=3
//   mark kind=step source=explicit value=12 name=""
//
// `@` is the record's own time stamp, when it has one. Strings are quoted and C-escaped, so a line is
// printable ASCII whatever the traced process wrote. tests/support/trace_text.h reads the same lines.
#ifndef PLATEAU_ANALYZER_READER_RECORD_TEXT_H_
#define PLATEAU_ANALYZER_READER_RECORD_TEXT_H_

#include <string>

#include "preload/trace/record.h"

namespace plateau::reader {

std::string RecordToText(const trace::Record& record);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_RECORD_TEXT_H_
