// The JSON of vectors into cases. Every access is checked: a vector file comes from outside.
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/json_limits.h"
#include "analyzer/verdict/cases/case_events.h"
#include "analyzer/verdict/cases/case_file.h"

namespace plateau::verdict {
namespace {

using Json = nlohmann::ordered_json;
using series::RunContext;

constexpr int64_t kMaxSteps = 10'000'000;

// Thrown and caught inside this file only; the message says where and what.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const Json& Member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key))
    throw Malformed(absl::StrCat(where, " has no \"", key, "\""));
  return object[key];
}

bool IsGiven(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && !object[key].is_null();
}

double NumberAt(const Json& value, const std::string& where) {
  if (!value.is_number()) throw Malformed(absl::StrCat(where, " is not a number"));
  const double number = value.get<double>();
  if (!std::isfinite(number)) throw Malformed(absl::StrCat(where, " is not finite"));
  return number;
}

std::optional<double> OptionalNumber(const Json& object, const char* key, const std::string& where) {
  if (!IsGiven(object, key)) return std::nullopt;
  return NumberAt(object[key], absl::StrCat(where, ".", key));
}

// Unknown when absent or not positive.
std::optional<double> OptionalPositive(const Json& object, const char* key, const std::string& where) {
  const std::optional<double> value = OptionalNumber(object, key, where);
  return value && *value > 0 ? value : std::nullopt;
}

std::vector<double> NumberArray(const Json& object, const char* key, const std::string& where,
                                int64_t length = -1) {
  const Json& array = Member(object, key, where);
  const std::string place = absl::StrCat(where, ".", key);
  if (!array.is_array()) throw Malformed(absl::StrCat(place, " is not an array"));
  if (length >= 0 && static_cast<int64_t>(array.size()) != length) {
    throw Malformed(absl::StrCat(place, " has ", array.size(), " entries, expected ", length));
  }
  std::vector<double> values;
  values.reserve(array.size());
  for (const Json& value : array)
    values.push_back(NumberAt(value, absl::StrCat(place, "[", values.size(), "]")));
  return values;
}

RunContext ParseMeta(const Json& meta, const Defaults& defaults) {
  RunContext run = defaults;
  const std::string where = "meta";
  const double steps = NumberAt(Member(meta, "steps", where), "meta.steps");
  if (steps < 0 || steps > static_cast<double>(kMaxSteps)) throw Malformed("meta.steps is out of range");
  run.steps = static_cast<int64_t>(steps);
  const auto fill = [&](std::optional<double>& field, const char* key) {
    if (const std::optional<double> value = OptionalPositive(meta, key, where)) field = value;
  };
  fill(run.epoch_steps, "epoch_steps");
  fill(run.examples_per_step, "examples_per_step");
  fill(run.limit_bytes, "limit_bytes");
  fill(run.planned_steps, "planned_steps");
  fill(run.dataset_examples, "dataset_examples");
  fill(run.level_now_bytes, "level_now");
  fill(run.seconds_per_step, "seconds_per_step");
  run.reference_bytes = OptionalNumber(meta, "ref_bytes", where).value_or(run.reference_bytes);
  run.sample_interval_bytes = OptionalNumber(meta, "sample_interval", where).value_or(0);
  run.lost_rate = OptionalNumber(meta, "lost_rate", where).value_or(0);
  run.has_no_pass = OptionalNumber(meta, "no_pass", where).value_or(0) > 0;
  run.bucket_steps = static_cast<int64_t>(OptionalPositive(meta, "bucket_steps", where).value_or(1));
  if (IsGiven(meta, "unique_seen")) run.unique_seen = NumberArray(meta, "unique_seen", where, run.steps + 1);
  if (IsGiven(meta, "events")) {
    if (!meta["events"].is_object()) throw Malformed("meta.events is not an object");
    run.events.clear();
    for (const auto& [name, list] : meta["events"].items()) {
      series::EventTrack track{name, {}};
      for (double step : NumberArray(meta["events"], name.c_str(), "meta.events")) {
        track.steps.push_back(static_cast<int64_t>(step));
      }
      run.events.push_back(std::move(track));
    }
  }
  return run;
}

series::SiteSeries ParseSite(const Json& object, const std::string& where, int64_t steps) {
  series::SiteSeries site;
  site.alloc_bytes = NumberArray(object, "alloc_bytes", where, steps + 1);
  site.alloc_count = NumberArray(object, "alloc_n", where, steps + 1);
  site.free_bytes = NumberArray(object, "free_bytes", where, steps + 1);
  site.free_count = NumberArray(object, "free_n", where, steps + 1);
  site.surv_bytes = NumberArray(object, "surv_bytes", where, steps + 1);
  site.surv_count = NumberArray(object, "surv_n", where, steps + 1);
  const std::vector<double> death_bytes = NumberArray(object, "death_bytes", where, series::kAgeBuckets);
  const std::vector<double> death_count = NumberArray(object, "death_n", where, series::kAgeBuckets);
  std::copy(death_bytes.begin(), death_bytes.end(), site.death_bytes.begin());
  std::copy(death_count.begin(), death_count.end(), site.death_count.begin());
  if (IsGiven(object, "surv_variance")) {
    site.surv_variance = NumberArray(object, "surv_variance", where, steps + 1);
  }
  return site;
}

series::ProcessSeries ParseProcess(const Json& object) {
  series::ProcessSeries process;
  process.step = NumberArray(object, "step", "process");
  const int64_t n = static_cast<int64_t>(process.step.size());
  if (n == 0) throw Malformed("process.step is empty");
  process.rss = NumberArray(object, "rss", "process", n);
  process.held = NumberArray(object, "held", "process", n);
  process.live = NumberArray(object, "live", "process", n);
  process.live_peak = NumberArray(object, "live_peak", "process", n);
  if (!IsGiven(object, "workers")) return process;
  if (!object["workers"].is_array()) throw Malformed("process.workers is not an array");
  for (const Json& item : object["workers"]) {
    const std::string where = absl::StrCat("process.workers[", process.workers.size(), "]");
    series::WorkerSeries worker;
    worker.private_bytes = NumberArray(item, "private", where);
    worker.live_bytes = NumberArray(item, "live", where);
    worker.shared_at_fork_bytes = OptionalNumber(item, "shared_at_fork", where).value_or(0);
    process.workers.push_back(std::move(worker));
  }
  return process;
}

series::MemoryCurve ParseCurve(const Json& object) {
  series::MemoryCurve curve;
  curve.step = NumberArray(object, "step", "series");
  curve.bytes = NumberArray(object, "bytes", "series", static_cast<int64_t>(curve.step.size()));
  if (IsGiven(object, "run")) {
    for (double run : NumberArray(object, "run", "series", static_cast<int64_t>(curve.step.size()))) {
      curve.run.push_back(static_cast<int>(run));
    }
  }
  return curve;
}

std::optional<Expectation> ParseExpectation(const Json& object) {
  if (!IsGiven(object, "accept") && !IsGiven(object, "truth")) return std::nullopt;
  Expectation expected;
  const auto accept = [&](const Json& name) {
    const std::optional<VerdictKind> kind =
        name.is_string() ? ParseVerdict(name.get<std::string>()) : std::nullopt;
    if (!kind) throw Malformed(absl::StrCat("unknown verdict ", name.dump(), " in \"accept\" or \"truth\""));
    expected.accept.push_back(*kind);
  };
  const Json& list = IsGiven(object, "accept") ? object["accept"] : object["truth"];
  if (list.is_array()) {
    for (const Json& name : list) accept(name);
  } else {
    accept(list);
  }
  if (IsGiven(object, "leak") && object["leak"].is_boolean()) expected.leak = object["leak"].get<bool>();
  if (IsGiven(object, "hard") && object["hard"].is_boolean()) expected.hard = object["hard"].get<bool>();
  if (IsGiven(object, "reference")) {
    const Json& reference = object["reference"];
    expected.rate_bytes_per_step = OptionalNumber(reference, "rate", "reference");
    expected.plateau_bytes = OptionalNumber(reference, "plateau", "reference");
    expected.knee_step = OptionalNumber(reference, "knee", "reference");
  }
  return expected;
}

VerdictCase ParseCase(const Json& object, size_t index, const Defaults& defaults) {
  if (!object.is_object()) throw Malformed("is not an object");
  VerdictCase parsed;
  parsed.id = IsGiven(object, "id") && object["id"].is_string() ? object["id"].get<std::string>()
                                                                : absl::StrCat("case ", index);
  if (IsGiven(object, "family") && object["family"].is_string())
    parsed.family = object["family"].get<std::string>();
  parsed.run = ParseMeta(Member(object, "meta", "the case"), defaults);
  if (IsGiven(object, "site")) {
    parsed.tier = CaseTier::kSite;
    parsed.site = ParseSite(object["site"], "site", parsed.run.steps);
  } else if (IsGiven(object, "process")) {
    parsed.tier = CaseTier::kProcess;
    parsed.process = ParseProcess(object["process"]);
    if (IsGiven(object, "sites")) {
      if (!object["sites"].is_array()) throw Malformed("\"sites\" is not an array");
      for (const Json& site : object["sites"]) {
        parsed.sites.push_back(
            ParseSite(site, absl::StrCat("sites[", parsed.sites.size(), "]"), parsed.run.steps));
      }
    }
  } else if (IsGiven(object, "series")) {
    parsed.tier = CaseTier::kCurve;
    parsed.curve = ParseCurve(object["series"]);
  } else {
    throw Malformed("has none of \"site\", \"series\" and \"process\"");
  }
  parsed.expected = ParseExpectation(object);
  return parsed;
}

bool SameArrays(const series::SiteSeries& a, const series::SiteSeries& b) {
  return a.alloc_bytes == b.alloc_bytes && a.alloc_count == b.alloc_count && a.free_bytes == b.free_bytes &&
         a.free_count == b.free_count && a.surv_bytes == b.surv_bytes && a.surv_count == b.surv_count &&
         a.death_bytes == b.death_bytes && a.death_count == b.death_count;
}

}  // namespace

absl::StatusOr<std::vector<VerdictCase>> ParseEventCases(std::string_view text, std::string_view event_lines,
                                                         const std::string& name, const Defaults& defaults) {
  std::vector<VerdictCase> cases;
  try {
    if (const absl::Status limits = CheckJsonLimits(text); !limits.ok())
      return absl::ResourceExhaustedError(absl::StrCat(name, ": ", limits.message()));
    const Json document = Json::parse(text);
    const RunContext run = ParseMeta(Member(document, "meta", "the vector"), defaults);
    absl::StatusOr<std::unordered_map<std::string, series::SiteSeries>> sites =
        AccumulateEvents(event_lines, name, run.steps);
    if (!sites.ok()) return sites.status();
    const Json& expected = Member(document, "expected", "the vector");
    for (const auto& [site, object] : expected.items()) {
      VerdictCase one;
      one.id =
          absl::StrCat(IsGiven(document, "name") ? document["name"].get<std::string>() : name, "/", site);
      one.family = "events";
      one.run = run;
      if (!sites->contains(site)) throw Malformed(absl::StrCat("no event names the site \"", site, "\""));
      one.site = sites->at(site);
      one.expected = ParseExpectation(object);
      one.arrays_match = SameArrays(
          one.site, ParseSite(Member(object, "arrays", site), absl::StrCat(site, ".arrays"), run.steps));
      cases.push_back(std::move(one));
    }
  } catch (const std::exception& error) {
    return absl::DataLossError(absl::StrCat(name, ": ", error.what()));
  }
  return cases;
}

absl::StatusOr<std::vector<VerdictCase>> ParseJsonCases(std::string_view text, const std::string& name,
                                                        const Defaults& defaults) {
  if (const absl::Status limits = CheckJsonLimits(text); !limits.ok())
    return absl::ResourceExhaustedError(absl::StrCat(name, ": ", limits.message()));
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat(name, ": not JSON: ", error.what()));
  }
  const Json* list = &document;
  if (document.is_object() && document.contains("cases")) list = &document["cases"];
  const Json single = Json::array({list->is_object() ? *list : Json()});
  if (list->is_object()) list = &single;
  if (!list->is_array()) return absl::DataLossError(absl::StrCat(name, ": expected {\"cases\": [...]}"));
  std::vector<VerdictCase> cases;
  for (const Json& object : *list) {
    try {
      cases.push_back(ParseCase(object, cases.size(), defaults));
    } catch (const std::exception& error) {
      const bool has_id = object.is_object() && object.contains("id") && object["id"].is_string();
      return absl::DataLossError(absl::StrCat(
          name, ": case ", cases.size(),
          has_id ? absl::StrCat(" (", object["id"].get<std::string>(), ")") : "", ": ", error.what()));
    }
  }
  return cases;
}

}  // namespace plateau::verdict
