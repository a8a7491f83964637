#include "analyzer/report/export/perfetto_export.h"

#include <algorithm>

#include "analyzer/report/export/stack_walk.h"
#include "analyzer/report/export/track_trace.pb.h"

namespace plateau::report {
namespace {

using track_trace::Trace;
using track_trace::TracePacket;
using track_trace::TrackDescriptor;
using track_trace::TrackEvent;

uint64_t Nanoseconds(double seconds) { return seconds > 0 ? static_cast<uint64_t>(seconds * 1e9) : 0; }

class TraceBuilder {
 public:
  explicit TraceBuilder(const ReportModel& model) : model_(model) {
    TrackDescriptor* track = NewTrack("", 0);
    process_track_ = track->uuid();
    track_trace::ProcessDescriptor* process = track->mutable_process();
    const Process* main = model.processes.empty() ? nullptr : &model.processes[0];
    process->set_pid(main == nullptr ? 1 : static_cast<int32_t>(main->pid));
    process->set_process_name(ValidUtf8(model.recording.command));
    process->add_cmdline(ValidUtf8(model.recording.command));
  }

  void AddLedger() {
    AddCounter("live", &LedgerReading::live_bytes);
    AddCounter("rss", &LedgerReading::rss_bytes);
    AddCounter("rss anonymous", &LedgerReading::rss_anon_bytes);
    AddCounter("rss files", &LedgerReading::rss_file_bytes);
    AddCounter("rss shared", &LedgerReading::rss_shmem_bytes);
    AddCounter("allocator gap", &LedgerReading::allocator_gap_bytes);
    AddCounter("pinned", &LedgerReading::pinned_bytes);
    AddCounter("device live", &LedgerReading::device_live_bytes);
    AddCounter("device reserved", &LedgerReading::device_reserved_bytes);
    AddCounter("cgroup", &LedgerReading::cgroup_bytes);
    AddCounter("unexplained", &LedgerReading::unexplained_bytes);
    const uint64_t steps = NewCounter("step", track_trace::CounterDescriptor::UNIT_COUNT);
    for (const LedgerReading& s : model_.ledger) Count(steps, s.time_seconds, static_cast<int64_t>(s.step));
  }

  void AddSites(size_t max_sites) {
    size_t added = 0;
    for (const Site& site : model_.sites) {
      if (added >= max_sites) break;
      if (site.live_bytes.empty() || model_.axis_seconds.size() < site.live_bytes.size()) continue;
      ++added;
      const uint64_t track =
          NewCounter("site " + NameWithPool(site), track_trace::CounterDescriptor::UNIT_SIZE_BYTES);
      for (size_t i = 0; i < site.live_bytes.size(); ++i) {
        const bool changed =
            i == 0 || i + 1 == site.live_bytes.size() || site.live_bytes[i] != site.live_bytes[i - 1];
        if (changed) Count(track, model_.axis_seconds[i], site.live_bytes[i]);
      }
    }
  }

  // Each kind of phase has a track of its own, so that slices on one track do not overlap.
  void AddPhases() {
    for (const char* kind : {"epoch", "warm_up", "plateau", "evaluation", "checkpoint"}) {
      uint64_t track = 0;
      for (const Phase& phase : model_.phases) {
        if (phase.kind != kind) continue;
        if (track == 0) track = NewTrack(kind, process_track_)->uuid();
        TracePacket* begin = NewPacket(phase.from_seconds);
        begin->mutable_track_event()->set_type(TrackEvent::TYPE_SLICE_BEGIN);
        begin->mutable_track_event()->set_track_uuid(track);
        begin->mutable_track_event()->add_categories("phase");
        begin->mutable_track_event()->set_name(ValidUtf8(phase.label));
        TracePacket* end = NewPacket(std::max(phase.to_seconds, phase.from_seconds));
        end->mutable_track_event()->set_type(TrackEvent::TYPE_SLICE_END);
        end->mutable_track_event()->set_track_uuid(track);
      }
    }
  }

  std::string Write() const { return trace_.SerializeAsString(); }

 private:
  TracePacket* NewPacket(double seconds) {
    TracePacket* packet = trace_.add_packet();
    packet->set_timestamp(Nanoseconds(seconds));
    packet->set_trusted_packet_sequence_id(1);
    if (trace_.packet_size() == 1) packet->set_sequence_flags(1);  // the sequence starts here
    return packet;
  }

  TrackDescriptor* NewTrack(const std::string& name, uint64_t parent) {
    TrackDescriptor* track = NewPacket(0)->mutable_track_descriptor();
    track->set_uuid(++last_uuid_);
    if (!name.empty()) track->set_name(ValidUtf8(name));
    if (parent != 0) track->set_parent_uuid(parent);
    return track;
  }

  uint64_t NewCounter(const std::string& name, track_trace::CounterDescriptor::Unit unit) {
    TrackDescriptor* track = NewTrack(name, process_track_);
    track->mutable_counter()->set_unit(unit);
    return track->uuid();
  }

  void Count(uint64_t track, double seconds, int64_t value) {
    TrackEvent* event = NewPacket(seconds)->mutable_track_event();
    event->set_type(TrackEvent::TYPE_COUNTER);
    event->set_track_uuid(track);
    event->set_counter_value(value);
  }

  void AddCounter(const char* name, int64_t LedgerReading::*field) {
    if (std::all_of(model_.ledger.begin(), model_.ledger.end(),
                    [&](const LedgerReading& s) { return s.*field == 0; })) {
      return;
    }
    const uint64_t track = NewCounter(name, track_trace::CounterDescriptor::UNIT_SIZE_BYTES);
    for (const LedgerReading& s : model_.ledger) Count(track, s.time_seconds, s.*field);
  }

  const ReportModel& model_;
  Trace trace_;
  uint64_t process_track_ = 0;
  uint64_t last_uuid_ = 0;
};

}  // namespace

std::string WritePerfetto(const ReportModel& model, const PerfettoOptions& options) {
  TraceBuilder builder(model);
  builder.AddLedger();
  builder.AddSites(options.max_sites);
  builder.AddPhases();
  return builder.Write();
}

}  // namespace plateau::report
