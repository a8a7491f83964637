#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/json_limits.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/report/json/json_report.h"
#include "analyzer/report/model_fields.h"

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;  // evidence keeps its order

// A whole number; std::out_of_range for one that does not fit, which a cast would leave undefined.
template <typename T>
T Whole(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    // The highest value itself may not be a double; the next power of two is.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(number >= static_cast<double>(std::numeric_limits<T>::lowest()) && number < end))
      throw std::out_of_range(absl::StrCat("the number ", number, " does not fit its field"));
  }
  return value.get<T>();
}

template <typename Fields, typename Row>
void Read(const Fields& fields, const Json& from, Row& row);

// What one value may look like. A wrong type throws nlohmann's type_error, which ReadJsonReport turns into a
// status.
template <typename T>
void FromJson(const Json& from, T& to) {
  if constexpr (HasFields<T>) {
    Read(FieldsOf<T>::kAll, from, to);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    to = Whole<T>(from);
  } else {
    from.get_to(to);
  }
}

void FromJson(const Json& from, std::vector<int64_t>& to) {
  for (const Json& value : from) to.push_back(Whole<int64_t>(value));
}

void FromJson(const Json& from, std::array<int64_t, kAgeBuckets>& to) {
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) to[i] = Whole<int64_t>(from[i]);
}

void FromJson(const Json& from, std::optional<double>& to) { to = from.get<double>(); }

void FromJson(const Json& from, std::optional<int>& to) {
  if (from.is_number()) to = Whole<int>(from);
}

void FromJson(const Json& from, std::optional<Interval>& to) {
  if (from.is_array() && from.size() == 2 && from[0].is_number() && from[1].is_number())
    to = Interval{from[0].get<double>(), from[1].get<double>()};
}

template <typename Row>
requires HasFields<Row>
void FromJson(const Json& from, std::optional<Row>& to) {
  if (from.is_object()) FromJson(from, to.emplace());
}

void FromJson(const Json& from, std::vector<EvidenceNumber>& to) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_number()) to.push_back({name, value.get<double>()});
  }
}

void FromJson(const Json& from, std::vector<std::pair<std::string, std::string>>& to) {
  for (const auto& [key, value] : from.items()) to.emplace_back(key, value.get<std::string>());
}

template <typename Row>
requires HasFields<Row>
void FromJson(const Json& from, std::vector<Row>& to) {
  for (const Json& item : from) FromJson(item, to.emplace_back());
}

// Missing or null leaves the default.
template <typename T>
void Get(const Json& from, const char* key, T& to) {
  const auto at = from.find(key);
  if (at != from.end() && !at->is_null()) FromJson(*at, to);
}

template <typename In, typename Value, typename Row>
void ReadField(const Field<In, Value>& field, const Json& from, Row& row) {
  Get(from, field.key, row.*field.member);
}

template <typename In, typename Value, typename Row>
void ReadField(const Length<In, Value>&, const Json&, Row&) {}

template <typename In, typename Value, typename Row>
void ReadField(const Inline<In, Value>& field, const Json& from, Row& row) {
  Read(FieldsOf<Value>::kAll, from, row.*field.member);
}

template <typename Fields, typename Row>
void Read(const Fields& fields, const Json& from, Row& row) {
  ForEachField(fields, [&](const auto& field) { ReadField(field, from, row); });
}

// An object of its own whose fields belong to `row`.
template <typename Fields, typename Row>
void ReadPart(const Fields& fields, const Json& from, const char* key, Row& row) {
  if (const auto at = from.find(key); at != from.end()) Read(fields, *at, row);
}

// The index of a frame in the model, which is added when it is new.
using FrameKey = std::tuple<std::string, std::string, int, std::string>;
using FrameIndex = std::map<FrameKey, uint32_t>;

FrameKey KeyOf(const Frame& frame) { return {frame.function, frame.file, frame.line, frame.module}; }

uint32_t IndexOf(const Frame& frame, ReportModel& model, FrameIndex& known) {
  const auto [at, added] = known.try_emplace(KeyOf(frame), static_cast<uint32_t>(model.frames.size()));
  if (added) model.frames.push_back(frame);
  return at->second;
}

// A tree from outside: every index is checked, since everybody else relies on them.
void ReadStacks(const Json& j, ReportModel& model, FrameIndex& known) {
  const auto frames = j.find("frames");
  const auto stacks = j.find("stacks");
  if (frames == j.end() || stacks == j.end()) return;
  for (const Json& row : *frames) {
    Frame frame;
    row.at(0).get_to(frame.function);
    row.at(1).get_to(frame.file);
    row.at(2).get_to(frame.line);
    row.at(3).get_to(frame.module);
    row.at(4).get_to(frame.kind);
    known.try_emplace(KeyOf(frame), static_cast<uint32_t>(model.frames.size()));
    model.frames.push_back(std::move(frame));
  }
  const size_t count = stacks->at("parent").size();
  model.stacks.resize(count);
  ForEachField(kStackColumns, [&](const auto& column) {
    const Json& values = stacks->at(column.key);
    for (size_t i = 0; i < count; ++i) values.at(i).get_to(model.stacks[i].*column.member);
  });
  for (size_t i = 0; i < count; ++i) {
    const StackTreeNode& node = model.stacks[i];
    if (node.parent >= static_cast<int32_t>(i) || node.parent < -1 || node.frame >= model.frames.size()) {
      throw std::out_of_range("stack node " + std::to_string(i) + " refers to nothing");
    }
  }
}

void ReadSite(const Json& j, ReportModel& model, FrameIndex& known, Site& site) {
  FromJson(j, site);
  Read(kSiteSeriesFields, j, site);
  std::vector<Frame> stack;
  Get(j, "stack", stack);
  for (const Frame& frame : stack) site.stack.push_back(IndexOf(frame, model, known));
}

void ReadAll(const Json& j, ReportModel& model) {
  Get(j, "tool_version", model.tool_version);
  Get(j, "headline", model.verdict);
  Get(j, "verdict", model.verdict.name);
  Get(j, "recording", model.recording);
  Get(j, "steps", model.steps);
  Get(j, "totals", model.totals);
  if (const auto totals = j.find("totals"); totals != j.end()) Get(*totals, "leftovers", model.leftovers);
  ReadPart(kDropFields, j, "drops", model.losses);
  ReadPart(kDamageFields, j, "damage", model.losses);
  Read(kSummaryFields, j, model);
  Get(j, "ledger", model.ledger);
  Get(j, "tensors", model.tensors);
  if (const auto axis = j.find("axis"); axis != j.end()) {
    Get(*axis, "steps", model.axis_steps);
    Get(*axis, "seconds", model.axis_seconds);
  }
  FrameIndex known;
  ReadStacks(j, model, known);
  if (const auto sites = j.find("sites"); sites != j.end()) {
    for (const Json& item : *sites) ReadSite(item, model, known, model.sites.emplace_back());
  }
}

}  // namespace

absl::StatusOr<ReportModel> ReadJsonReport(absl::string_view text) {
  PLATEAU_RETURN_IF_ERROR(CheckJsonLimits({text.data(), text.size()}));
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return absl::InvalidArgumentError("not a JSON object; expected the output of `plateau report --json`");
  }
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_string()) {
    return absl::InvalidArgumentError("no \"schema\" field; expected the output of `plateau report --json`");
  }
  const std::string name = schema->get<std::string>();
  if (name != kReportSchema) {
    if (absl::StartsWith(name, "plateau-report/")) {
      return absl::UnimplementedError(
          absl::StrCat("schema ", name, " is newer than ", kReportSchema, "; use a newer plateau"));
    }
    return absl::InvalidArgumentError(absl::StrCat("schema is ", name, ", expected ", kReportSchema));
  }
  ReportModel model;
  try {
    ReadAll(json, model);
  } catch (const std::out_of_range& error) {
    return absl::InvalidArgumentError(error.what());
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("a field has the wrong type: ", error.what()));
  }
  return model;
}

}  // namespace plateau::report
