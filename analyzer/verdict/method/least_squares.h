// Least squares with up to three columns, by a one-sided Jacobi SVD: accurate for nearly dependent columns,
// and the solution of smallest norm when they are dependent.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_LEAST_SQUARES_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_LEAST_SQUARES_H_

#include <array>
#include <initializer_list>
#include <vector>

#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {

inline constexpr int kMaxColumns = 3;

struct LinearFit {
  std::array<double, kMaxColumns> b{};  // coefficients, in the order of the columns
  double rss = 0;
};

// Fits y = sum of b[i] * columns[i]. All columns have the length of y.
LinearFit FitColumns(std::initializer_list<Values> columns, Values y);

// y minus the fit.
std::vector<double> Residuals(const LinearFit& fit, std::initializer_list<Values> columns, Values y);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_LEAST_SQUARES_H_
