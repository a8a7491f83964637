#include "analyzer/report/json_report.h"

#include <algorithm>
#include <type_traits>

#include "analyzer/report/json_fields.h"

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

template <typename Value>
Json ToJson(const Value& value);

Json ToJson(const Interval& interval) { return Json::array({interval.low, interval.high}); }

template <typename Value>
Json ToJson(const std::optional<Value>& value) {
  return value.has_value() ? ToJson(*value) : Json(nullptr);
}

Json ToJson(const std::vector<EvidenceNumber>& numbers) {
  Json out = Json::object();
  for (const EvidenceNumber& number : numbers) out[number.name] = number.value;
  return out;
}

Json ToJson(const TextPairs& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) out[key] = value;
  return out;
}

template <typename Row>
requires HasFields<Row> Json ToJson(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(ToJson(row));
  return out;
}

template <typename Fields, typename Row>
void Write(const Fields& fields, const Row& row, Json* out);

template <typename In, typename Value, typename Row>
void WriteField(const Field<In, Value>& field, const Row& row, Json* out) {
  (*out)[field.key] = ToJson(row.*field.member);
}

template <typename In, typename Value, typename Row>
void WriteField(const Length<In, Value>& field, const Row& row, Json* out) {
  (*out)[field.key] = (row.*field.member).size();
}

template <typename In, typename Value, typename Row>
void WriteField(const Inline<In, Value>& field, const Row& row, Json* out) {
  Write(FieldsOf<Value>::kAll, row.*field.member, out);
}

template <typename Fields, typename Row>
void Write(const Fields& fields, const Row& row, Json* out) {
  ForEachField(fields, [&](const auto& field) { WriteField(field, row, out); });
}

template <typename Value>
Json ToJson(const Value& value) {
  if constexpr (HasFields<Value>) {
    Json out = Json::object();
    Write(FieldsOf<Value>::kAll, value, &out);
    return out;
  } else {
    return Json(value);
  }
}

template <typename Fields>
Json LossesToJson(const Fields& fields, const Losses& losses) {
  Json out;
  Write(fields, losses, &out);
  return out;
}

Json TotalsToJson(const ReportModel& model) {
  Json out = ToJson(model.totals);
  out["leftovers"] = ToJson(model.leftovers);
  return out;
}

Json SiteToJson(const ReportModel& model, const Site& site, bool with_series) {
  Json out = ToJson(site);
  if (with_series) Write(kSiteSeriesFields, site, &out);
  Json& stack = out["stack"] = Json::array();
  for (uint32_t frame : site.stack) {
    if (frame < model.frames.size()) stack.push_back(ToJson(model.frames[frame]));
  }
  return out;
}

// Columns, because there may be many: frames as rows of five, nodes as one list per value.
void AddStacks(const ReportModel& model, Json& out) {
  Json& frames = out["frames"] = Json::array();
  for (const Frame& f : model.frames) frames.push_back({f.function, f.file, f.line, f.module, f.kind});
  Json& stacks = out["stacks"];
  ForEachField(kStackColumns, [&](const auto& column) {
    Json& values = stacks[column.key] = Json::array();
    for (const StackNode& node : model.stacks) values.push_back(node.*column.member);
  });
}

}  // namespace

nlohmann::ordered_json SummaryToJson(const ReportModel& model) {
  Json out;
  out["schema"] = kReportSchema;
  out["tool_version"] = model.tool_version;
  out["verdict"] = model.verdict.name;
  out["headline"] = ToJson(model.verdict);
  out["recording"] = ToJson(model.recording);
  out["steps"] = ToJson(model.steps);
  out["totals"] = TotalsToJson(model);
  out["drops"] = LossesToJson(kDropFields, model.losses);
  out["damage"] = LossesToJson(kDamageFields, model.losses);
  Write(kSummaryFields, model, &out);
  return out;
}

nlohmann::ordered_json ReportToJson(const ReportModel& model, const JsonOptions& options) {
  Json out = SummaryToJson(model);
  out["ledger"] = ToJson(model.ledger);
  out["axis"] = {{"steps", model.axis_steps}, {"seconds", model.axis_seconds}};
  out["tensors"] = ToJson(model.tensors);
  Json& sites = out["sites"] = Json::array();
  const size_t shown =
      options.max_sites == 0 ? model.sites.size() : std::min(options.max_sites, model.sites.size());
  for (size_t i = 0; i < shown; ++i)
    sites.push_back(SiteToJson(model, model.sites[i], options.include_series));
  if (shown < model.sites.size()) {
    int64_t bytes = 0;
    for (size_t i = shown; i < model.sites.size(); ++i) bytes += model.sites[i].retained_bytes;
    out["sites_not_shown"] = {{"count", model.sites.size() - shown}, {"retained_bytes", bytes}};
  }
  if (options.include_stacks) AddStacks(model, out);
  return out;
}

std::string WriteJsonReport(const ReportModel& model, const JsonOptions& options) {
  // NaN and infinities become null in nlohmann's output, bad UTF-8 the replacement character.
  return ReportToJson(model, options).dump(options.indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plateau::report
