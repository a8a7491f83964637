#include "analyzer/report/export/pprof_export.h"

#include <zlib.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/export/pprof_profile.pb.h"
#include "analyzer/report/export/stack_walk.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

class ProfileBuilder {
 public:
  explicit ProfileBuilder(const ReportModel& model) : model_(model) {
    Text("");
    Type("inuse_objects", "count");
    Type("inuse_space", "bytes");
    Type("growth_space", "bytes");
    Type("peak_space", "bytes");
    Type("temporary_space", "bytes");
    Type("alloc_objects", "count");
    Type("alloc_space", "bytes");
    profile_.set_default_sample_type(Text("inuse_space"));
    profile_.mutable_period_type()->set_type(Text("space"));
    profile_.mutable_period_type()->set_unit(Text("bytes"));
    profile_.set_period(static_cast<int64_t>(model.recording.sample_bytes));
    profile_.set_duration_nanos(static_cast<int64_t>(model.recording.duration_seconds * 1e9));
    profile_.add_comment(Text(absl::StrCat("Plateau ", model.tool_version, ": ", model.verdict.name)));
    profile_.add_comment(Text(model.recording.command));
  }

  std::string Build() {
    for (size_t i = 0; i < model_.stacks.size(); ++i) AddSample(i);
    return profile_.SerializeAsString();
  }

 private:
  int64_t Text(absl::string_view text) {
    std::string valid = ValidUtf8(text);
    const auto [at, added] = texts_.try_emplace(valid, profile_.string_table_size());
    if (added) profile_.add_string_table(valid);
    return at->second;
  }

  void Type(const char* type, const char* unit) {
    pprof::ValueType* value = profile_.add_sample_type();
    value->set_type(Text(type));
    value->set_unit(Text(unit));
  }

  uint64_t MappingOf(const std::string& module) {
    if (module.empty()) return 0;
    const auto [at, added] = mappings_.try_emplace(module, profile_.mapping_size() + 1);
    if (added) {
      pprof::Mapping* mapping = profile_.add_mapping();
      mapping->set_id(at->second);
      mapping->set_filename(Text(module));
      mapping->set_has_functions(true);
      mapping->set_has_filenames(true);
      mapping->set_has_line_numbers(true);
    }
    return at->second;
  }

  uint64_t FunctionOf(const Frame& frame) {
    const auto [at, added] =
        functions_.try_emplace(std::make_pair(frame.function, frame.file), profile_.function_size() + 1);
    if (added) {
      pprof::Function* function = profile_.add_function();
      function->set_id(at->second);
      function->set_name(Text(frame.function.empty() ? "[unknown]" : frame.function));
      function->set_system_name(function->name());
      function->set_filename(Text(frame.file));
    }
    return at->second;
  }

  uint64_t LocationOf(uint32_t index) {
    const auto [at, added] = locations_.try_emplace(index, profile_.location_size() + 1);
    if (added) {
      static const Frame unknown;
      const Frame& frame = index < model_.frames.size() ? model_.frames[index] : unknown;
      const uint64_t mapping = MappingOf(frame.module);
      const uint64_t function = FunctionOf(frame);
      pprof::Location* location = profile_.add_location();
      location->set_id(at->second);
      location->set_mapping_id(mapping);
      pprof::Line* line = location->add_line();
      line->set_function_id(function);
      line->set_line(frame.line);
    }
    return at->second;
  }

  void AddSample(size_t index) {
    const StackTreeNode& node = model_.stacks[index];
    const int64_t values[] = {
        node.retained_count, node.retained_bytes,  StackValue(node, StackMetric::kGrowth),
        node.peak_bytes,     node.temporary_bytes, node.alloc_count,
        node.alloc_bytes};
    bool any = false;
    for (int64_t value : values) any |= value != 0;
    if (!any) return;
    pprof::Sample* sample = profile_.add_sample();
    for (uint32_t frame : FramesOf(model_.stacks, index)) sample->add_location_id(LocationOf(frame));
    for (int64_t value : values) sample->add_value(value);
    if (node.site < 0 || static_cast<size_t>(node.site) >= model_.sites.size()) return;
    const Site& site = model_.sites[node.site];
    AddLabel(*sample, "site", site.site);
    AddLabel(*sample, "pool", site.pool);
    AddLabel(*sample, "verdict", site.verdict);
  }

  void AddLabel(pprof::Sample& sample, const char* key, const std::string& value) {
    if (value.empty()) return;
    pprof::Label* label = sample.add_label();
    label->set_key(Text(key));
    label->set_str(Text(value));
  }

  const ReportModel& model_;
  pprof::Profile profile_;
  absl::flat_hash_map<std::string, int64_t> texts_;
  absl::flat_hash_map<std::string, uint64_t> mappings_;
  absl::flat_hash_map<std::pair<std::string, std::string>, uint64_t> functions_;
  absl::flat_hash_map<uint32_t, uint64_t> locations_;
};

}  // namespace

absl::StatusOr<std::string> Gzip(const std::string& bytes) {
  z_stream stream = {};
  // 15 + 16: the largest window, with a gzip header.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::InternalError("zlib could not start");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InternalError("zlib could not compress the profile");
  return out;
}

absl::StatusOr<std::string> WritePprof(const ReportModel& model) {
  return Gzip(ProfileBuilder(model).Build());
}

}  // namespace plateau::report
