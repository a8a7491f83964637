// One result as one line of JSON, for scripts: the keys of the contract are always there, null when unknown.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_CASE_JSON_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_CASE_JSON_H_

#include <string>

#include "analyzer/verdict/cases/verdict_case.h"

namespace plateau::verdict {

// Without a line feed. Equal input gives equal bytes.
std::string ResultLine(const VerdictCase& verdict_case, const CaseResult& result);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_CASE_JSON_H_
