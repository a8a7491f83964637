// Patterns by who holds what stays: each on a run that has it, and on a healthy one that is built the same way.
#include "analyzer/verdict/holder_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/verdict/patterns.h"
#include "tests/analyzer/verdict/scenario.h"

namespace plateau::verdict {
namespace {

using series::HolderPath;
using series::LengthReading;
using testing::Contains;
using testing::Not;

constexpr int64_t kSteps = 240;

using Links = std::vector<std::pair<std::string, std::string>>;  // kind and text

class HolderPatternsTest : public testing::Test {
 protected:
  HolderPatternsTest() : run(kSteps) {
    run.epoch_steps = 60;
    run.examples_per_step = 8;
    run.input.has_python = true;
    run.AddOrdinaryTraining();
    site = run.AddSite({.name = "forward (model.py:9)", .frames = {"at::empty", "forward (model.py:9)"}});
  }

  HolderPath& HeldBy(const Links& links, size_t container_links, const std::string& type = "list",
                     double bound = 0) {
    run.input.holdings.resize(site + 1);
    run.input.holdings[site].looked_at = 64;
    HolderPath& path = run.input.holdings[site].paths.emplace_back();
    for (const auto& [kind, text] : links) {
      path.links.push_back({kind, text, false});
      path.text += text;
      if (path.links.size() == container_links) path.container = path.text;
    }
    path.container_links = container_links;
    path.container_type = type;
    path.share = 1;
    path.lengths = {{32, 32, bound}, {64, 64, bound}, {128, 128, bound}};
    return path;
  }
  void KeepEachStep() {
    for (int64_t step = 1; step <= kSteps; ++step) run.Keep(site, step, 4 * kMiB);
  }
  void FreeEachStep() {
    for (int64_t step = 1; step <= kSteps; ++step) run.Churn(site, step, 4 * kMiB, 0);
  }
  std::set<std::string> Matched() {
    analysis = run.Analyse();
    std::set<std::string> ids;
    for (const PatternMatch& match : analysis.patterns) ids.insert(match.pattern->id);
    return ids;
  }

  Scenario run;
  size_t site;
  Analysis analysis;
};

// What is freed within its step is held by somebody too, and no pattern of a holder may speak of it.
#define SILENT_WHEN_FREED(ID, NAME, ...)              \
  TEST_F(HolderPatternsTest, ID##NAME##ThatIsFreed) { \
    FreeEachStep();                                   \
    HeldBy(__VA_ARGS__);                              \
    EXPECT_THAT(Matched(), Not(Contains(#ID)));       \
  }                                                   \
  TEST_F(HolderPatternsTest, ID##NAME##ThatStays) {   \
    KeepEachStep();                                   \
    HeldBy(__VA_ARGS__);                              \
    EXPECT_THAT(Matched(), Contains(#ID));            \
  }

const Links kCallback = {{"global", "trainer"},       {"attribute", ".callback_handler"},
                         {"attribute", ".callbacks"}, {"index", "[2]"},
                         {"attribute", ".seen"},      {"index", "[*]"},
                         {"key", "['pixel_values']"}};
SILENT_WHEN_FREED(K33, AttributeOfACallback, kCallback, 5)

TEST_F(HolderPatternsTest, K33ACallbackItselfIsNoAttributeOfOne) {
  KeepEachStep();
  HeldBy({{"global", "trainer"}, {"attribute", ".callbacks"}, {"index", "[*]"}}, 2);
  EXPECT_THAT(Matched(), Not(Contains("K33")));
}

const Links kLogHistory = {{"local", "trainer"},
                           {"attribute", ".state"},
                           {"attribute", ".log_history"},
                           {"index", "[*]"},
                           {"key", "['loss']"}};
SILENT_WHEN_FREED(K34, LogHistory, kLogHistory, 3)

TEST_F(HolderPatternsTest, K34AnotherHistory) {
  KeepEachStep();
  HeldBy({{"local", "browser"}, {"attribute", ".history"}, {"index", "[*]"}}, 2);
  EXPECT_THAT(Matched(), Not(Contains("K34")));
}

const Links kMetric = {{"global", "val_metric"}, {"attribute", ".preds"}, {"index", "[*]"}};
SILENT_WHEN_FREED(K35, StateOfAMetric, kMetric, 2)

TEST_F(HolderPatternsTest, K35AsymmetricIsNoMetric) {
  KeepEachStep();
  HeldBy({{"global", "asymmetric"}, {"attribute", ".preds"}, {"index", "[*]"}}, 2);
  EXPECT_THAT(Matched(), Not(Contains("K35")));
}

const Links kHook = {{"global", "model"},
                     {"attribute", "._forward_hooks"},
                     {"key", "[*]"},
                     {"cell", " -> closure's kept"},
                     {"index", "[*]"}};
SILENT_WHEN_FREED(K36, ClosureOfAHook, kHook, 4)

TEST_F(HolderPatternsTest, K36AParameterOfAModule) {
  KeepEachStep();
  HeldBy({{"global", "model"}, {"attribute", "._parameters"}, {"key", "['weight']"}}, 2, "dict");
  EXPECT_THAT(Matched(), Not(Contains("K36")));
}

const Links kException = {{"module", "sys"},
                          {"global", ".last_exc"},
                          {"traceback", " -> traceback"},
                          {"frame", " -> step() (train.py:12)"},
                          {"local", ".batch"}};
SILENT_WHEN_FREED(K37, StoredException, kException, 2)

TEST_F(HolderPatternsTest, K37ALocalOfARunningFunction) {
  KeepEachStep();
  HeldBy({{"local", "batches"}, {"index", "[*]"}}, 1);
  EXPECT_THAT(Matched(), Not(Contains("K37")));
}

const Links kModuleLevel = {{"global", "seen"}, {"index", "[*]"}};
SILENT_WHEN_FREED(K38, ListOfAModule, kModuleLevel, 1)

TEST_F(HolderPatternsTest, K38ABoundedDequeOfAModule) {
  KeepEachStep();
  HeldBy({{"global", "seen"}, {"index", "[*]"}}, 1, "collections.deque", 1000);
  EXPECT_THAT(Matched(), Not(Contains("K38")));
}

TEST_F(HolderPatternsTest, K38AnAttributeOfAnObject) {
  KeepEachStep();
  HeldBy({{"global", "client"}, {"attribute", "._cache"}, {"index", "[*]"}}, 2);
  EXPECT_THAT(Matched(), Not(Contains("K38")));
}

const Links kLru = {{"global", "load"}, {"key", "[*]"}};
SILENT_WHEN_FREED(K39, UnboundedLruCache, kLru, 1, "functools._lru_cache_wrapper")

TEST_F(HolderPatternsTest, K39ALruCacheWithABound) {
  KeepEachStep();
  HeldBy(kLru, 1, "functools._lru_cache_wrapper", 1000);
  EXPECT_THAT(Matched(), Not(Contains("K39")));
}

const Links kDataset = {
    {"local", "loader"}, {"attribute", ".dataset"}, {"attribute", ".decoded"}, {"key", "[*]"}};
SILENT_WHEN_FREED(K40, AttributeOfADataset, kDataset, 3, "dict")

TEST_F(HolderPatternsTest, K40TheDataSetAsAList) {
  KeepEachStep();
  HeldBy({{"local", "dataset"}, {"index", "[*]"}}, 1);
  EXPECT_THAT(Matched(), Not(Contains("K40")));
}

const Links kQueue = {{"local", "it"}, {"attribute", "._task_info"}, {"key", "[*]"}, {"index", "[1]"}};
SILENT_WHEN_FREED(K41, PrefetchQueue, kQueue, 2, "dict")

TEST_F(HolderPatternsTest, K41AQueueOfWork) {
  KeepEachStep();
  HeldBy({{"local", "jobs"}, {"attribute", ".queue"}, {"index", "[*]"}}, 2, "collections.deque");
  EXPECT_THAT(Matched(), Not(Contains("K41")));
}

TEST_F(HolderPatternsTest, AMatchSaysWhoHoldsHowMuch) {
  KeepEachStep();
  HeldBy(kCallback, 5);
  Matched();
  const PatternMatch* match = nullptr;
  for (const PatternMatch& one : analysis.patterns) {
    if (std::string(one.pattern->id) == "K33") match = &one;
  }
  ASSERT_NE(match, nullptr);
  EXPECT_TRUE(match->explains_headline);
  EXPECT_NE(match->evidence.find("trainer.callback_handler.callbacks[2].seen (list, 128 items, +1 a step)"),
            std::string::npos)
      << match->evidence;
}

TEST_F(HolderPatternsTest, APathThatHoldsLittleOrIsGarbageIsNoPattern) {
  KeepEachStep();
  HeldBy(kCallback, 5).share = 0.1;
  EXPECT_THAT(Matched(), Not(Contains("K33")));
  run.input.holdings[site].paths[0].share = 1;
  run.input.holdings[site].paths[0].end = series::HeldBy::kGarbage;
  EvidenceBundle none;
  EXPECT_FALSE(MatchHolderPattern("K33", none).has_value());
}

TEST_F(HolderPatternsTest, EveryPatternByHolderIsInTheCatalogue) {
  size_t found = 0;
  for (const Pattern& pattern : PatternCatalogue()) found += IsHolderPattern(pattern.id);
  EXPECT_EQ(found, 9u);
  EXPECT_FALSE(IsHolderPattern("K32"));
}

TEST_F(HolderPatternsTest, K08GarbageThatALookSaw) {
  KeepEachStep();
  run.input.holdings.resize(site + 1);
  run.input.holdings[site] = {.looked_at = 64, .garbage_share = 0.9};
  EXPECT_THAT(Matched(), Contains("K08"));
}

}  // namespace
}  // namespace plateau::verdict
