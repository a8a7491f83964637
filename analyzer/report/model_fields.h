// The fields of the model under the keys they have in JSON, one list per row of the model: the writer and the
// reader both go through it, so that what is written is what is read, in the order of the list.
//
//   ForEachField(FieldsOf<Pool>::kAll, [&](const auto& field) { Write(field, pool, &out); });
//
// Fields are only ever added (see json_report.h). docs/report-json.md says what each of them means.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_FIELDS_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_FIELDS_H_

#include <tuple>

#include "analyzer/report/report_model.h"

namespace plateau::report {

// A member under its key.
template <typename Row, typename Value>
struct Field {
  constexpr Field(const char* name, Value Row::*at) : key(name), member(at) {}
  const char* key;
  Value Row::*member;
};

// The length of a list; written for readers of the report, not read back.
template <typename Row, typename Value>
struct Length {
  constexpr Length(const char* name, Value Row::*at) : key(name), member(at) {}
  const char* key;
  Value Row::*member;
};

// A member whose own fields stand among those of the row.
template <typename Row, typename Value>
struct Inline {
  constexpr explicit Inline(Value Row::*at) : member(at) {}
  Value Row::*member;
};

// Specialised for every row below.
template <typename Row>
struct FieldsOf;

template <typename Row>
concept HasFields = requires {
  FieldsOf<Row>::kAll;
};

template <typename Fields, typename Visit>
void ForEachField(const Fields& fields, Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields);
}

template <>
struct FieldsOf<Forecast> {
  static constexpr auto kAll = std::tuple(
      Field{"label", &Forecast::label}, Field{"sentence", &Forecast::sentence},
      Field{"from_step", &Forecast::from_step}, Field{"from_bytes", &Forecast::from_bytes},
      Field{"rate_bytes_per_step", &Forecast::rate_bytes_per_step},
      Field{"rate_interval", &Forecast::rate_interval}, Field{"plateau_bytes", &Forecast::plateau_bytes},
      Field{"plateau_interval", &Forecast::plateau_interval}, Field{"plateau_step", &Forecast::plateau_step},
      Field{"plateau_step_interval", &Forecast::plateau_step_interval},
      Field{"limit_step", &Forecast::limit_step},
      Field{"limit_step_interval", &Forecast::limit_step_interval});
};

template <>
struct FieldsOf<Verdict> {
  static constexpr auto kAll = std::tuple(
      Field{"verdict", &Verdict::name}, Field{"reason", &Verdict::reason},
      Field{"summary", &Verdict::summary}, Field{"site", &Verdict::site},
      Field{"sentence", &Verdict::sentence}, Field{"why", &Verdict::why}, Field{"numbers", &Verdict::numbers},
      Field{"outcome", &Verdict::outcome}, Field{"forecasts", &Verdict::forecasts},
      Field{"detectable_bytes_per_step", &Verdict::detectable_bytes_per_step},
      Field{"needs_steps", &Verdict::needs_steps}, Field{"limit_bytes", &Verdict::limit_bytes},
      Field{"held_by", &Verdict::held_by}, Field{"limit_source", &Verdict::limit_source},
      Field{"next_steps", &Verdict::next_steps});
};

template <>
struct FieldsOf<RecordingInfo> {
  static constexpr auto kAll =
      std::tuple(Field{"path", &RecordingInfo::path}, Field{"command", &RecordingInfo::command},
                 Field{"mode", &RecordingInfo::mode}, Field{"sample_bytes", &RecordingInfo::sample_bytes},
                 Field{"exact_from_bytes", &RecordingInfo::exact_from_bytes},
                 Field{"python_sample_bytes", &RecordingInfo::python_sample_bytes},
                 Field{"sampled_from_seconds", &RecordingInfo::sampled_from_seconds},
                 Field{"totals_only_from_seconds", &RecordingInfo::totals_only_from_seconds},
                 Field{"started_utc", &RecordingInfo::started_utc},
                 Field{"duration_seconds", &RecordingInfo::duration_seconds},
                 Field{"ending", &RecordingInfo::ending}, Field{"trace_bytes", &RecordingInfo::trace_bytes},
                 Field{"trace_files", &RecordingInfo::trace_files}, Field{"events", &RecordingInfo::events},
                 Field{"sources", &RecordingInfo::sources}, Field{"notes", &RecordingInfo::notes},
                 Field{"environment", &RecordingInfo::environment}, Field{"levels", &RecordingInfo::levels});
};

template <>
struct FieldsOf<Steps> {
  static constexpr auto kAll = std::tuple(
      Field{"count", &Steps::count}, Field{"source", &Steps::source}, Field{"loop", &Steps::loop},
      Field{"confidence", &Steps::confidence}, Length{"epochs", &Steps::epoch_ends},
      Length{"evaluations", &Steps::evaluations}, Length{"checkpoints", &Steps::checkpoints},
      Field{"steps_per_epoch", &Steps::steps_per_epoch}, Field{"epoch_ends", &Steps::epoch_ends},
      Field{"evaluation_steps", &Steps::evaluations}, Field{"checkpoint_steps", &Steps::checkpoints});
};

template <>
struct FieldsOf<Totals> {
  static constexpr auto kAll =
      std::tuple(Field{"alloc_count", &Totals::alloc_count}, Field{"alloc_bytes", &Totals::alloc_bytes},
                 Field{"free_count", &Totals::free_count}, Field{"free_bytes", &Totals::free_bytes},
                 Field{"retained_bytes", &Totals::retained_bytes},
                 Field{"retained_count", &Totals::retained_count}, Field{"peak_bytes", &Totals::peak_bytes},
                 Field{"peak_step", &Totals::peak_step}, Field{"temporary_bytes", &Totals::temporary_bytes});
};

template <>
struct FieldsOf<Leftover> {
  static constexpr auto kAll = std::tuple(
      Field{"name", &Leftover::name}, Field{"explanation", &Leftover::explanation},
      Field{"retained_bytes", &Leftover::retained_bytes}, Field{"retained_count", &Leftover::retained_count},
      Field{"peak_bytes", &Leftover::peak_bytes}, Field{"temporary_bytes", &Leftover::temporary_bytes},
      Field{"alloc_bytes", &Leftover::alloc_bytes}, Field{"alloc_count", &Leftover::alloc_count});
};

// Losses are two objects of the report: what was not recorded, and what could not be read.
inline constexpr auto kDropFields =
    std::tuple(Field{"events", &Losses::dropped_events}, Field{"bytes", &Losses::dropped_bytes},
               Field{"unknown_frees", &Losses::unknown_frees});
inline constexpr auto kDamageFields =
    std::tuple(Field{"blocks", &Losses::damaged_blocks}, Field{"bytes", &Losses::damaged_bytes},
               Field{"missing_blocks", &Losses::missing_blocks}, Field{"headers", &Losses::damaged_headers},
               Field{"skipped_records", &Losses::skipped_records},
               Field{"unreadable_files", &Losses::unreadable_files}, Field{"messages", &Losses::messages});

template <>
struct FieldsOf<LedgerReading> {
  static constexpr auto kAll = std::tuple(
      Field{"time_seconds", &LedgerReading::time_seconds}, Field{"step", &LedgerReading::step},
      Field{"live_bytes", &LedgerReading::live_bytes}, Field{"rss_bytes", &LedgerReading::rss_bytes},
      Field{"rss_anon_bytes", &LedgerReading::rss_anon_bytes},
      Field{"rss_file_bytes", &LedgerReading::rss_file_bytes},
      Field{"rss_shmem_bytes", &LedgerReading::rss_shmem_bytes},
      Field{"allocator_gap_bytes", &LedgerReading::allocator_gap_bytes},
      Field{"allocator_gap_estimated", &LedgerReading::allocator_gap_is_estimated},
      Field{"own_bytes", &LedgerReading::own_bytes}, Field{"pinned_bytes", &LedgerReading::pinned_bytes},
      Field{"device_live_bytes", &LedgerReading::device_live_bytes},
      Field{"device_reserved_bytes", &LedgerReading::device_reserved_bytes},
      Field{"cgroup_bytes", &LedgerReading::cgroup_bytes},
      Field{"unexplained_bytes", &LedgerReading::unexplained_bytes},
      Field{"tensor_bytes", &LedgerReading::tensor_bytes},
      Field{"tensor_count", &LedgerReading::tensor_count});
};

template <>
struct FieldsOf<PoolSummary> {
  static constexpr auto kAll = std::tuple(
      Field{"name", &PoolSummary::name}, Field{"verdict", &PoolSummary::verdict},
      Field{"evidence", &PoolSummary::evidence}, Field{"live_bytes", &PoolSummary::live_bytes},
      Field{"peak_bytes", &PoolSummary::peak_bytes}, Field{"reserved_bytes", &PoolSummary::reserved_bytes},
      Field{"growth_bytes_per_step", &PoolSummary::growth_bytes_per_step});
};

template <>
struct FieldsOf<DeviceLevels> {
  static constexpr auto kAll =
      std::tuple(Field{"tensor_bytes", &DeviceLevels::tensor_bytes},
                 Field{"reserved_bytes", &DeviceLevels::reserved_bytes},
                 Field{"torch_reserved_bytes", &DeviceLevels::torch_reserved_bytes},
                 Field{"free_in_segments_bytes", &DeviceLevels::free_in_segments_bytes},
                 Field{"largest_free_bytes", &DeviceLevels::largest_free_bytes},
                 Field{"async_reserved_bytes", &DeviceLevels::async_reserved_bytes},
                 Field{"async_used_bytes", &DeviceLevels::async_used_bytes},
                 Field{"limit_bytes", &DeviceLevels::limit_bytes},
                 Field{"driver_used_bytes", &DeviceLevels::driver_used_bytes},
                 Field{"fragmentation", &DeviceLevels::fragmentation});
};

template <>
struct FieldsOf<TorchComparison> {
  static constexpr auto kAll = std::tuple(
      Field{"compared", &TorchComparison::compared}, Field{"mismatches", &TorchComparison::mismatches},
      Field{"last_difference_bytes", &TorchComparison::last_difference_bytes},
      Field{"blocks_outside_segments", &TorchComparison::blocks_outside_segments},
      Field{"reserved_exceeded", &TorchComparison::reserved_exceeded});
};

template <>
struct FieldsOf<Device> {
  static constexpr auto kAll = std::tuple(Field{"device", &Device::device}, Inline{&Device::levels},
                                          Field{"tensor_peak_bytes", &Device::tensor_peak_bytes},
                                          Field{"reserved_peak_bytes", &Device::reserved_peak_bytes},
                                          Field{"graph_private_bytes", &Device::graph_private_bytes},
                                          Field{"torch_check", &Device::torch_check});
};

template <>
struct FieldsOf<OutOfMemory> {
  static constexpr auto kAll =
      std::tuple(Field{"time_seconds", &OutOfMemory::time_seconds}, Field{"step", &OutOfMemory::step},
                 Field{"device", &OutOfMemory::device}, Field{"level", &OutOfMemory::level},
                 Field{"call", &OutOfMemory::call}, Field{"requested_bytes", &OutOfMemory::requested_bytes},
                 Field{"site", &OutOfMemory::site}, Field{"file", &OutOfMemory::file},
                 Field{"line", &OutOfMemory::line}, Inline{&OutOfMemory::levels});
};

template <>
struct FieldsOf<Process> {
  static constexpr auto kAll =
      std::tuple(Field{"pid", &Process::pid}, Field{"parent_pid", &Process::parent_pid},
                 Field{"role", &Process::role}, Field{"rank", &Process::rank}, Field{"exe", &Process::exe},
                 Field{"command", &Process::command}, Field{"ending", &Process::ending},
                 Field{"start_seconds", &Process::start_seconds}, Field{"end_seconds", &Process::end_seconds},
                 Field{"verdict", &Process::verdict}, Field{"retained_bytes", &Process::retained_bytes},
                 Field{"peak_bytes", &Process::peak_bytes}, Field{"peak_rss_bytes", &Process::peak_rss_bytes},
                 Field{"growth_bytes_per_step", &Process::growth_bytes_per_step},
                 Field{"dropped_events", &Process::dropped_events});
};

template <>
struct FieldsOf<RankCurve> {
  static constexpr auto kAll =
      std::tuple(Field{"step", &RankCurve::step}, Field{"seconds", &RankCurve::seconds},
                 Field{"live_bytes", &RankCurve::live_bytes}, Field{"rss_bytes", &RankCurve::rss_bytes});
};

template <>
struct FieldsOf<RankSummary> {
  static constexpr auto kAll = std::tuple(
      Field{"rank", &RankSummary::rank}, Field{"pid", &RankSummary::pid},
      Field{"earlier_attempts", &RankSummary::earlier_attempts}, Field{"workers", &RankSummary::workers},
      Field{"group", &RankSummary::group}, Field{"verdict", &RankSummary::verdict},
      Field{"site", &RankSummary::site}, Field{"rate_bytes_per_step", &RankSummary::rate_bytes_per_step},
      Field{"steps", &RankSummary::steps}, Field{"end_seconds", &RankSummary::end_seconds},
      Field{"ending", &RankSummary::ending}, Field{"retained_bytes", &RankSummary::retained_bytes},
      Field{"peak_bytes", &RankSummary::peak_bytes}, Field{"peak_rss_bytes", &RankSummary::peak_rss_bytes},
      Field{"odd", &RankSummary::odd}, Field{"curve", &RankSummary::curve});
};

template <>
struct FieldsOf<TestedHypothesis> {
  static constexpr auto kAll =
      std::tuple(Field{"name", &TestedHypothesis::name}, Field{"result", &TestedHypothesis::result},
                 Field{"evidence", &TestedHypothesis::evidence});
};

template <>
struct FieldsOf<MatchedPattern> {
  static constexpr auto kAll =
      std::tuple(Field{"id", &MatchedPattern::id}, Field{"title", &MatchedPattern::title},
                 Field{"explanation", &MatchedPattern::explanation}, Field{"fix", &MatchedPattern::fix},
                 Field{"evidence", &MatchedPattern::evidence});
};

template <>
struct FieldsOf<LibraryAllocator> {
  static constexpr auto kAll = std::tuple(
      Field{"name", &LibraryAllocator::name}, Field{"resident_bytes", &LibraryAllocator::resident_bytes},
      Field{"reserved_bytes", &LibraryAllocator::reserved_bytes},
      Field{"growth_bytes_per_step", &LibraryAllocator::growth_bytes_per_step},
      Field{"site", &LibraryAllocator::site}, Field{"remedy", &LibraryAllocator::remedy},
      Field{"sentence", &LibraryAllocator::sentence});
};

template <>
struct FieldsOf<HoleHolder> {
  static constexpr auto kAll = std::tuple(
      Field{"site", &HoleHolder::site}, Field{"bytes", &HoleHolder::bytes},
      Field{"low_bytes", &HoleHolder::low_bytes}, Field{"high_bytes", &HoleHolder::high_bytes},
      Field{"block_count", &HoleHolder::block_count}, Field{"block_bytes", &HoleHolder::block_bytes});
};

template <>
struct FieldsOf<HeapHoles> {
  static constexpr auto kAll =
      std::tuple(Field{"bytes", &HeapHoles::bytes}, Field{"empty_page_bytes", &HeapHoles::empty_page_bytes},
                 Field{"other_bytes", &HeapHoles::other_bytes}, Field{"exact", &HeapHoles::is_exact},
                 Field{"sentence", &HeapHoles::sentence}, Field{"holders", &HeapHoles::holders});
};

template <>
struct FieldsOf<LastAsker> {
  static constexpr auto kAll =
      std::tuple(Field{"site", &LastAsker::site}, Field{"grown_bytes", &LastAsker::grown_bytes},
                 Field{"retained_bytes", &LastAsker::retained_bytes});
};

template <>
struct FieldsOf<LastMinutes> {
  static constexpr auto kAll = std::tuple(
      Field{"from_seconds", &LastMinutes::from_seconds}, Field{"to_seconds", &LastMinutes::to_seconds},
      Field{"from_step", &LastMinutes::from_step}, Field{"to_step", &LastMinutes::to_step},
      Field{"rss_from_bytes", &LastMinutes::rss_from_bytes},
      Field{"rss_to_bytes", &LastMinutes::rss_to_bytes},
      Field{"out_of_memory", &LastMinutes::is_out_of_memory}, Field{"sentence", &LastMinutes::sentence},
      Field{"asked", &LastMinutes::asked}, Field{"largest", &LastMinutes::largest},
      Field{"refused", &LastMinutes::refused});
};

template <>
struct FieldsOf<Attached> {
  static constexpr auto kAll = std::tuple(
      Field{"age_seconds", &Attached::age_seconds}, Field{"from_time", &Attached::from_time},
      Field{"to_time", &Attached::to_time}, Field{"resident_bytes", &Attached::resident_bytes},
      Field{"before_bytes", &Attached::before_bytes}, Field{"unknown_frees", &Attached::unknown_frees},
      Field{"implied_frees", &Attached::implied_frees}, Field{"modules", &Attached::modules},
      Field{"modules_not_hooked", &Attached::modules_not_hooked},
      Field{"program_imports", &Attached::program_imports}, Field{"sentence", &Attached::sentence});
};

template <>
struct FieldsOf<BreakdownItem> {
  static constexpr auto kAll =
      std::tuple(Field{"name", &BreakdownItem::name}, Field{"bytes", &BreakdownItem::bytes},
                 Field{"count", &BreakdownItem::count}, Field{"how", &BreakdownItem::how});
};

template <>
struct FieldsOf<Phase> {
  static constexpr auto kAll =
      std::tuple(Field{"kind", &Phase::kind}, Field{"label", &Phase::label},
                 Field{"from_step", &Phase::from_step}, Field{"to_step", &Phase::to_step},
                 Field{"from_seconds", &Phase::from_seconds}, Field{"to_seconds", &Phase::to_seconds});
};

template <>
struct FieldsOf<TensorCurve> {
  static constexpr auto kAll =
      std::tuple(Field{"pool", &TensorCurve::pool}, Field{"live_count", &TensorCurve::live_count},
                 Field{"live_bytes", &TensorCurve::live_bytes});
};

template <>
struct FieldsOf<Frame> {
  static constexpr auto kAll =
      std::tuple(Field{"function", &Frame::function}, Field{"file", &Frame::file},
                 Field{"line", &Frame::line}, Field{"module", &Frame::module}, Field{"kind", &Frame::kind});
};

template <>
struct FieldsOf<Share> {
  static constexpr auto kAll =
      std::tuple(Field{"name", &Share::name}, Field{"retained_bytes", &Share::retained_bytes},
                 Field{"retained_count", &Share::retained_count}, Field{"peak_bytes", &Share::peak_bytes},
                 Field{"temporary_bytes", &Share::temporary_bytes},
                 Field{"growth_bytes_per_step", &Share::growth_bytes_per_step});
};

template <>
struct FieldsOf<HolderLink> {
  static constexpr auto kAll = std::tuple(Field{"kind", &HolderLink::kind}, Field{"text", &HolderLink::text},
                                          Field{"user_data", &HolderLink::is_user_data});
};

template <>
struct FieldsOf<ContainerReading> {
  static constexpr auto kAll =
      std::tuple(Field{"step", &ContainerReading::step}, Field{"items", &ContainerReading::items});
};

template <>
struct FieldsOf<HolderPath> {
  static constexpr auto kAll = std::tuple(
      Field{"end", &HolderPath::end}, Field{"root", &HolderPath::root},
      Field{"root_owner", &HolderPath::root_owner}, Field{"text", &HolderPath::text},
      Field{"container", &HolderPath::container}, Field{"container_type", &HolderPath::container_type},
      Field{"share", &HolderPath::share}, Field{"bytes", &HolderPath::bytes},
      Field{"items", &HolderPath::items}, Field{"bound", &HolderPath::bound},
      Field{"items_per_step", &HolderPath::items_per_step}, Field{"lengths", &HolderPath::lengths},
      Field{"links", &HolderPath::links}, Field{"container_links", &HolderPath::container_links});
};

template <>
struct FieldsOf<HolderLooks> {
  static constexpr auto kAll = std::tuple(
      Field{"walks", &HolderLooks::walks}, Field{"cut", &HolderLooks::cut},
      Field{"skipped", &HolderLooks::skipped}, Field{"skipped_why", &HolderLooks::skipped_why},
      Field{"objects", &HolderLooks::objects}, Field{"seconds", &HolderLooks::seconds},
      Field{"last_step", &HolderLooks::last_step}, Field{"garbage_objects", &HolderLooks::garbage_objects},
      Field{"garbage_bytes", &HolderLooks::garbage_bytes},
      Field{"frozen_objects", &HolderLooks::frozen_objects},
      Field{"collector_off", &HolderLooks::is_collector_off}, Field{"damaged", &HolderLooks::damaged},
      Field{"sentence", &HolderLooks::sentence});
};

// Of a site, but for its series (written on request) and its stack (frames, not their numbers).
template <>
struct FieldsOf<Site> {
  static constexpr auto kAll = std::tuple(
      Field{"site", &Site::site}, Field{"file", &Site::file}, Field{"line", &Site::line},
      Field{"function", &Site::function}, Field{"module", &Site::module}, Field{"pool", &Site::pool},
      Field{"phase", &Site::phase}, Field{"category", &Site::category},
      Field{"source_line", &Site::source_line}, Field{"excerpt", &Site::excerpt},
      Field{"excerpt_from", &Site::excerpt_from}, Field{"stored_at_line", &Site::stored_at_line},
      Field{"stored_at_text", &Site::stored_at_text}, Field{"library", &Site::library},
      Field{"is_import", &Site::is_import}, Field{"held_by", &Site::held_by},
      Field{"looked_at", &Site::looked_at}, Field{"not_found_share", &Site::not_found_share},
      Field{"garbage_share", &Site::garbage_share}, Field{"look_was_cut", &Site::look_was_cut},
      Field{"retained_bytes", &Site::retained_bytes}, Field{"retained_count", &Site::retained_count},
      Field{"grown_bytes", &Site::grown_bytes}, Field{"growth_bytes_per_step", &Site::growth_bytes_per_step},
      Field{"growth_interval", &Site::growth_interval}, Field{"peak_bytes", &Site::peak_bytes},
      Field{"temporary_bytes", &Site::temporary_bytes}, Field{"alloc_bytes", &Site::alloc_bytes},
      Field{"alloc_count", &Site::alloc_count}, Field{"free_count", &Site::free_count},
      Field{"tensor_count", &Site::tensor_count}, Field{"tensor_bytes", &Site::tensor_bytes},
      Field{"first_step", &Site::first_step}, Field{"last_step", &Site::last_step},
      Field{"verdict", &Site::verdict}, Field{"evidence", &Site::evidence}, Field{"numbers", &Site::numbers},
      Field{"threads", &Site::threads}, Field{"processes", &Site::processes});
};
inline constexpr auto kSiteSeriesFields =
    std::tuple(Field{"live_bytes", &Site::live_bytes}, Field{"survivor_bytes", &Site::survivor_bytes},
               Field{"tensor_live_count", &Site::tensor_live_count},
               Field{"tensor_live_bytes", &Site::tensor_live_bytes}, Field{"age_bytes", &Site::age_bytes});

// The stack tree as columns, one list per value.
inline constexpr auto kStackColumns = std::tuple(
    Field{"parent", &StackTreeNode::parent}, Field{"frame", &StackTreeNode::frame},
    Field{"site", &StackTreeNode::site}, Field{"retained_bytes", &StackTreeNode::retained_bytes},
    Field{"retained_count", &StackTreeNode::retained_count},
    Field{"growth_bytes_per_step", &StackTreeNode::growth_bytes_per_step},
    Field{"peak_bytes", &StackTreeNode::peak_bytes},
    Field{"temporary_bytes", &StackTreeNode::temporary_bytes},
    Field{"alloc_bytes", &StackTreeNode::alloc_bytes}, Field{"alloc_count", &StackTreeNode::alloc_count});

// Those of the model's lists that are short whatever the recording.
inline constexpr auto kSummaryFields =
    std::tuple(Field{"pools", &ReportModel::pools}, Field{"devices", &ReportModel::devices},
               Field{"out_of_memory", &ReportModel::out_of_memory},
               Field{"out_of_memory_count", &ReportModel::out_of_memory_count},
               Field{"processes", &ReportModel::processes}, Field{"ranks", &ReportModel::ranks},
               Field{"hypotheses", &ReportModel::hypotheses}, Field{"patterns", &ReportModel::patterns},
               Field{"breakdown", &ReportModel::breakdown}, Field{"allocators", &ReportModel::allocators},
               Field{"heap_holes", &ReportModel::heap_holes}, Field{"holders", &ReportModel::holders},
               Field{"last_minutes", &ReportModel::last_minutes}, Field{"attached", &ReportModel::attached},
               Field{"phases", &ReportModel::phases});

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_FIELDS_H_
