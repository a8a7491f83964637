#include "analyzer/verdict/method/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plateau::verdict {
namespace {

constexpr int kMaxSweeps = 40;

// Of two columns a and b.
struct Products {
  double aa = 0;
  double bb = 0;
  double ab = 0;
};

// All in one loop: each sum has to wait for its own last addition alone.
Products ProductsOf(const std::vector<double>& a, const std::vector<double>& b) {
  Products sums;
  for (size_t k = 0; k < a.size(); ++k) {
    sums.aa += a[k] * a[k];
    sums.bb += b[k] * b[k];
    sums.ab += a[k] * b[k];
  }
  return sums;
}

double Square(const std::vector<double>& a) {
  double sum = 0;
  for (double value : a) sum += value * value;
  return sum;
}

// The columns do not overlap.
void Rotate(double cosine, double sine, size_t size, double* __restrict a, double* __restrict b) {
  for (size_t k = 0; k < size; ++k) {
    const double before = a[k];
    a[k] = cosine * before - sine * b[k];
    b[k] = sine * before + cosine * b[k];
  }
}

}  // namespace

LinearFit FitColumns(std::initializer_list<Values> columns, Values y) {
  const int p = static_cast<int>(columns.size());
  const size_t n = y.size();
  // u: columns rotated until orthogonal; v: the rotation. columns = u v^T.
  static thread_local std::array<std::vector<double>, kMaxColumns> u;
  std::array<std::array<double, kMaxColumns>, kMaxColumns> v{};
  int column = 0;
  for (Values values : columns) {
    u[column].assign(values.begin(), values.end());
    v[column][column] = 1;
    ++column;
  }
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int i = 0; i < p; ++i) {
      for (int j = i + 1; j < p; ++j) {
        const auto [alpha, beta, gamma] = ProductsOf(u[i], u[j]);
        if (std::abs(gamma) <= 1e-15 * std::sqrt(alpha * beta)) continue;
        rotated = true;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double tangent = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        const double sine = cosine * tangent;
        Rotate(cosine, sine, n, u[i].data(), u[j].data());
        for (int k = 0; k < p; ++k) {
          const double a = v[k][i];
          const double b = v[k][j];
          v[k][i] = cosine * a - sine * b;
          v[k][j] = sine * a + cosine * b;
        }
      }
    }
    if (!rotated) break;
  }
  std::array<double, kMaxColumns> squared{};
  double largest = 0;
  for (int i = 0; i < p; ++i) {
    squared[i] = Square(u[i]);
    largest = std::max(largest, squared[i]);
  }
  const double cut = std::numeric_limits<double>::epsilon() * static_cast<double>(std::max<size_t>(n, p));
  LinearFit fit;
  for (int i = 0; i < p; ++i) {
    if (squared[i] <= cut * cut * largest) continue;
    double projection = 0;
    for (size_t k = 0; k < n; ++k) projection += u[i][k] * y[k];
    for (int k = 0; k < p; ++k) fit.b[k] += v[k][i] * projection / squared[i];
  }
  for (double r : Residuals(fit, columns, y)) fit.rss += r * r;
  return fit;
}

std::vector<double> Residuals(const LinearFit& fit, std::initializer_list<Values> columns, Values y) {
  std::vector<double> residuals(y.begin(), y.end());
  int column = 0;
  for (Values values : columns) {
    for (size_t k = 0; k < residuals.size(); ++k) residuals[k] -= fit.b[column] * values[k];
    ++column;
  }
  return residuals;
}

}  // namespace plateau::verdict
