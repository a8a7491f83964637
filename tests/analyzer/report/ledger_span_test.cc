#include "analyzer/report/ledger_span.h"

#include <gtest/gtest.h>

namespace plateau::report {
namespace {

ReportModel WithSteps(const std::vector<double>& steps) {
  ReportModel model;
  for (const double step : steps) {
    LedgerReading reading;
    reading.step = step;
    reading.live_bytes = static_cast<int64_t>(10 * step);
    model.ledger.push_back(reading);
  }
  return model;
}

TEST(LedgerSpanTest, ItBeginsWithTheFirstStepAndEndsWithTheLast) {
  const LedgerSpan span = SpanOf(WithSteps({0, 0.5, 1, 2, 3, 3, 3}));
  EXPECT_EQ(span.begin, 2u);
  EXPECT_EQ(span.end, 5u);
  EXPECT_EQ(span.live_peak_bytes, 30);
}

TEST(LedgerSpanTest, ARunWithoutStepsHasAllOfItsReadings) {
  const LedgerSpan span = SpanOf(WithSteps({0, 0, 0}));
  EXPECT_EQ(span.begin, 0u);
  EXPECT_EQ(span.end, 3u);
}

TEST(LedgerSpanTest, OneProcessHasThePeakOfItsEventsAndAJobThatOfTheCurve) {
  ReportModel model = WithSteps({1, 2});
  model.totals.peak_bytes = 500;
  EXPECT_EQ(SpanOf(model).live_peak_bytes, 500);
  model.processes.resize(2);
  EXPECT_EQ(SpanOf(model).live_peak_bytes, 20);
}

TEST(LedgerSpanTest, NoReadingsIsAnEmptySpan) { EXPECT_TRUE(SpanOf({}).empty()); }

}  // namespace
}  // namespace plateau::report
