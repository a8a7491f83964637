#include "analyzer/series/run_context.h"

#include <algorithm>

namespace plateau::series {

const char* LimitSourceName(LimitSource source) {
  switch (source) {
    case LimitSource::kGiven:
      return "given";
    case LimitSource::kCgroup:
      return "cgroup";
    case LimitSource::kMachine:
      return "machine";
  }
  return "";
}

const EventTrack* RunContext::FindEvents(const std::string& name) const {
  for (const EventTrack& track : events) {
    if (track.name == name) return &track;
  }
  return nullptr;
}

std::vector<int64_t> RunContext::EvaluationSteps() const {
  std::vector<int64_t> steps_of_both;
  for (const char* name : {"eval", "checkpoint"}) {
    if (const EventTrack* track = FindEvents(name)) {
      steps_of_both.insert(steps_of_both.end(), track->steps.begin(), track->steps.end());
    }
  }
  return steps_of_both;
}

RunContext RunContext::InBuckets(int64_t width) const {
  RunContext scaled = *this;
  if (width <= 1) return scaled;
  const double w = static_cast<double>(width);
  scaled.bucket_steps = bucket_steps * width;
  scaled.steps = BucketOfStep(steps, width);
  if (epoch_steps) scaled.epoch_steps = *epoch_steps / w;
  if (examples_per_step) scaled.examples_per_step = *examples_per_step * w;
  if (planned_steps) scaled.planned_steps = *planned_steps / w;
  if (seconds_per_step) scaled.seconds_per_step = *seconds_per_step * w;
  for (EventTrack& track : scaled.events) {
    for (int64_t& step : track.steps) step = BucketOfStep(step, width);
    track.steps.erase(std::unique(track.steps.begin(), track.steps.end()), track.steps.end());
  }
  if (!unique_seen.empty()) {
    scaled.unique_seen.assign(1, unique_seen.front());
    for (int64_t bucket = 1; bucket <= scaled.steps; ++bucket) {
      const int64_t last = std::min<int64_t>(bucket * width, static_cast<int64_t>(unique_seen.size()) - 1);
      scaled.unique_seen.push_back(unique_seen[last]);
    }
  }
  return scaled;
}

}  // namespace plateau::series
