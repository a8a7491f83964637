#include "analyzer/report/json/json_report.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/report/json/json_fields.h"
#include "analyzer/report/json/json_text.h"

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

// The sites are most of a report: they are written as they are met, never all of them as values at once.
class SiteWriter {
 public:
  SiteWriter(const ReportModel& model, const JsonOptions& options, JsonText* out)
      : model_(model), options_(options), out_(*out) {}

  void Write(const Site& site) {
    frames_.resize(model_.frames.size());
    out_.Begin('{');
    PutFields(FieldsOf<Site>::kAll, site);
    if (options_.include_series) PutFields(kSiteSeriesFields, site);
    out_.Key("stack");
    out_.Begin('[');
    for (const uint32_t frame : site.stack) {
      if (frame < frames_.size()) out_.Word(FrameText(frame));
    }
    out_.End(']');
    out_.End('}');
  }

 private:
  template <typename Fields, typename Row>
  void PutFields(const Fields& fields, const Row& row) {
    ForEachField(fields, [&](const auto& field) {
      out_.Key(field.key);
      Put(row.*field.member);
    });
  }

  template <typename Value>
  void Put(const Value& value) {
    if constexpr (HasFields<Value>) {
      out_.Begin('{');
      PutFields(FieldsOf<Value>::kAll, value);
      out_.End('}');
    } else {
      out_.Value(value);
    }
  }
  void Put(const std::optional<Interval>& interval) {
    if (!interval) return out_.Value(nullptr);
    out_.BeginRow();
    out_.Value(interval->low);
    out_.Value(interval->high);
    out_.EndRow();
  }
  template <typename Value>
  void Put(const std::vector<Value>& values) {
    PutList(values);
  }
  template <typename Value, size_t kSize>
  void Put(const std::array<Value, kSize>& values) {
    PutList(values);
  }
  // Each name once; of equal ones the last number counts.
  void Put(const std::vector<EvidenceNumber>& numbers) {
    const auto same = [](const EvidenceNumber& number) {
      return [&number](const EvidenceNumber& other) { return other.name == number.name; };
    };
    out_.Begin('{');
    for (auto it = numbers.begin(); it != numbers.end(); ++it) {
      if (std::find_if(numbers.begin(), it, same(*it)) != it) continue;
      out_.Key(it->name);
      out_.Value(std::find_if(numbers.rbegin(), numbers.rend(), same(*it))->value);
    }
    out_.End('}');
  }
  template <typename List>
  void PutList(const List& values) {
    constexpr bool kIsRow = std::is_arithmetic_v<typename List::value_type>;
    kIsRow ? out_.BeginRow() : out_.Begin('[');
    for (const auto& value : values) Put(value);
    kIsRow ? out_.EndRow() : out_.End(']');
  }

  // A frame is in the stacks of many sites, always at the same level.
  const std::string& FrameText(uint32_t frame) {
    std::string& known = frames_[frame];
    if (known.empty()) {
      JsonText text(options_.indent, out_.level());
      SiteWriter(model_, options_, &text).Put(model_.frames[frame]);
      known = text.Take();
    }
    return known;
  }

  const ReportModel& model_;
  const JsonOptions& options_;
  JsonText& out_;
  std::vector<std::string> frames_;  // as text; empty: not needed yet
};

// Columns, because there may be many: frames as rows of five, nodes as one list per value.
void AddStacks(const ReportModel& model, JsonText* out) {
  out->Key("frames");
  out->Begin('[');
  for (const Frame& f : model.frames) {
    out->BeginRow();
    out->Value(f.function);
    out->Value(f.file);
    out->Value(f.line);
    out->Value(f.module);
    out->Value(f.kind);
    out->EndRow();
  }
  out->End(']');
  out->Key("stacks");
  out->Begin('{');
  ForEachField(kStackColumns, [&](const auto& column) {
    out->Key(column.key);
    out->BeginRow();
    for (const StackNode& node : model.stacks) out->Value(node.*column.member);
    out->EndRow();
  });
  out->End('}');
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

// About; one with a deeper stack or a longer curve takes what others leave.
constexpr size_t kMostBytesOfASite = 8192;

std::string WriteJsonReport(const ReportModel& model, const JsonOptions& options) {
  Json first = SummaryToJson(model);
  first["ledger"] = ToJson(model.ledger);
  first["axis"] = {{"steps", model.axis_steps}, {"seconds", model.axis_seconds}};
  first["tensors"] = ToJson(model.tensors);
  JsonText out(options.indent);
  out.Begin('{');
  for (const auto& [key, value] : first.items()) {
    out.Key(key);
    out.Tree(value);
  }
  out.Key("sites");
  out.Begin('[');
  const size_t shown =
      options.max_sites == 0 ? model.sites.size() : std::min(options.max_sites, model.sites.size());
  out.Reserve(kMostBytesOfASite * shown);
  SiteWriter sites(model, options, &out);
  for (size_t i = 0; i < shown; ++i) sites.Write(model.sites[i]);
  out.End(']');
  if (shown < model.sites.size()) {
    int64_t bytes = 0;
    for (size_t i = shown; i < model.sites.size(); ++i) bytes += model.sites[i].retained_bytes;
    out.Key("sites_not_shown");
    out.Tree(Json{{"count", model.sites.size() - shown}, {"retained_bytes", bytes}});
  }
  if (options.include_stacks) AddStacks(model, &out);
  out.End('}');
  return out.Take() + "\n";
}

}  // namespace plateau::report
