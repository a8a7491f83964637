#include "analyzer/report/model_json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/model_fields.h"

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

void AddCurvesToJson(const ReportModel& model, Json* out) {
  (*out)["ledger"] = ToJson(model.ledger);
  (*out)["axis"] = {{"steps", model.axis_steps}, {"seconds", model.axis_seconds}};
  (*out)["tensors"] = ToJson(model.tensors);
}

}  // namespace plateau::report
