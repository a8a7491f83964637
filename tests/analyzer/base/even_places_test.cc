#include "analyzer/base/even_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace plateau {
namespace {

using Places = std::vector<size_t>;

TEST(EvenPlacesTest, FewPointsAreAllKept) {
  EXPECT_EQ(EvenPlaces(0, 4), Places());
  EXPECT_EQ(EvenPlaces(3, 4), (Places{0, 1, 2}));
}

TEST(EvenPlacesTest, TheFirstAndTheLastOfManyAreAmongThem) {
  EXPECT_EQ(EvenPlaces(100, 4), (Places{0, 33, 66, 99}));
  EXPECT_EQ(EvenPlaces(5, 1), Places{0});
}

}  // namespace
}  // namespace plateau
