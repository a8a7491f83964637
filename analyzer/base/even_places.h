// Which points of a curve to keep so that few of them show its course: evenly spread, the first and the last among them.
//
//   for (const size_t place : EvenPlaces(curve.size(), 64)) Draw(curve[place]);
#ifndef PLATEAU_ANALYZER_BASE_EVEN_PLACES_H_
#define PLATEAU_ANALYZER_BASE_EVEN_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plateau {

// Ascending, at most `most` of them; all places where there are no more.
inline std::vector<size_t> EvenPlaces(size_t points, size_t most) {
  std::vector<size_t> places;
  const size_t kept = std::min(points, most);
  for (size_t i = 0; i < kept; ++i) places.push_back(kept == 1 ? 0 : i * (points - 1) / (kept - 1));
  return places;
}

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_EVEN_PLACES_H_
