#include "analyzer/report/export/stack_text_export.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_replace.h"
#include "analyzer/report/units.h"

namespace plateau::report {

std::string WriteFolded(const ReportModel& model, StackMetric metric) {
  std::string out;
  for (size_t i = 0; i < model.stacks.size(); ++i) {
    const int64_t value = StackValue(model.stacks[i], metric);
    if (value <= 0) continue;
    const std::vector<uint32_t> frames = FramesOf(model.stacks, i);
    for (size_t f = frames.size(); f-- > 0;) {
      const std::string label = Printable(ValidUtf8(FrameLabel(model, frames[f])));
      absl::StrAppend(&out, absl::StrReplaceAll(label, {{";", ":"}}), f > 0 ? ";" : "");
    }
    absl::StrAppend(&out, " ", value, "\n");
  }
  return out;
}

std::string WriteSpeedscope(const ReportModel& model) {
  using Json = nlohmann::ordered_json;
  Json frames = Json::array();
  for (const Frame& frame : model.frames) {
    Json entry = {{"name", frame.function.empty() ? "[unknown]" : frame.function}};
    if (!frame.file.empty()) entry["file"] = frame.file;
    if (frame.line > 0) entry["line"] = frame.line;
    frames.push_back(std::move(entry));
  }
  const std::pair<StackMetric, const char*> metrics[] = {{StackMetric::kRetained, "retained bytes"},
                                                         {StackMetric::kGrowth, "growth, bytes per step"},
                                                         {StackMetric::kPeak, "bytes at the peak"},
                                                         {StackMetric::kTemporary, "temporary bytes"},
                                                         {StackMetric::kAllocated, "allocated bytes"}};
  Json profiles = Json::array();
  for (const auto& [metric, name] : metrics) {
    Json samples = Json::array(), weights = Json::array();
    int64_t sum = 0;
    for (size_t i = 0; i < model.stacks.size(); ++i) {
      const int64_t value = StackValue(model.stacks[i], metric);
      if (value <= 0) continue;
      const std::vector<uint32_t> leaf_first = FramesOf(model.stacks, i);
      samples.push_back(std::vector<uint32_t>(leaf_first.rbegin(), leaf_first.rend()));
      weights.push_back(value);
      sum += value;
    }
    if (samples.empty()) continue;
    profiles.push_back({{"type", "sampled"},
                        {"name", name},
                        {"unit", "bytes"},
                        {"startValue", 0},
                        {"endValue", sum},
                        {"samples", std::move(samples)},
                        {"weights", std::move(weights)}});
  }
  const Json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                     {"name", model.recording.command},
                     {"exporter", absl::StrCat("plateau ", model.tool_version)},
                     {"activeProfileIndex", 0},
                     {"shared", {{"frames", std::move(frames)}}},
                     {"profiles", std::move(profiles)}};
  return file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plateau::report
