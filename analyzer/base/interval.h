// A range of values, as an estimate has: a 95 % interval unless something else is said.
#ifndef PLATEAU_ANALYZER_BASE_INTERVAL_H_
#define PLATEAU_ANALYZER_BASE_INTERVAL_H_

namespace plateau {

struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_INTERVAL_H_
