// Early return for functions that give back absl::Status or absl::StatusOr.
//
//   PLATEAU_RETURN_IF_ERROR(file.ReadExactly(0, 64, buffer));
//   PLATEAU_ASSIGN_OR_RETURN(auto reader, TraceReader::Open(path));
#ifndef PLATEAU_ANALYZER_BASE_STATUS_MACROS_H_
#define PLATEAU_ANALYZER_BASE_STATUS_MACROS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PLATEAU_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                           \
    if (absl::Status plateau_status = (expression); !plateau_status.ok()) return plateau_status; \
  } while (false)

#define PLATEAU_CONCAT_INNER_(a, b) a##b
#define PLATEAU_CONCAT_(a, b) PLATEAU_CONCAT_INNER_(a, b)

// `left` may declare a variable, so it cannot be in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PLATEAU_ASSIGN_OR_RETURN(left, expression) \
  PLATEAU_ASSIGN_OR_RETURN_(PLATEAU_CONCAT_(plateau_result_, __LINE__), left, expression)
#define PLATEAU_ASSIGN_OR_RETURN_(result, left, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return result.status();                 \
  left = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // PLATEAU_ANALYZER_BASE_STATUS_MACROS_H_
