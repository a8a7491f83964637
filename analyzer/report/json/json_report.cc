#include "analyzer/report/json/json_report.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/report/json/json_text.h"
#include "analyzer/report/model_fields.h"
#include "analyzer/report/model_json.h"

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

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
  void Put(const std::optional<double>& number) { number ? out_.Value(*number) : out_.Value(nullptr); }
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
    for (const StackTreeNode& node : model.stacks) out->Value(node.*column.member);
    out->EndRow();
  });
  out->End('}');
}

}  // namespace

// Room for one site, about: one with a deeper stack or a longer curve takes what others leave.
constexpr size_t kMostBytesOfASite = 8192;

std::string WriteJsonReport(const ReportModel& model, const JsonOptions& options) {
  Json first = SummaryToJson(model);
  AddCurvesToJson(model, &first);
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
