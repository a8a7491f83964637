#include "preload/recorder/mark_thinning.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "preload/trace/mark_groups.h"

namespace plateau {
namespace {

using trace::MarkKind;

constexpr uint32_t kMostMarksOfAStep = 256;
constexpr uint64_t kMarkBytes = 16;  // with its time

}  // namespace

constinit MarkThinning g_mark_thinning;
static_assert(std::is_trivially_destructible_v<MarkThinning>);

void MarkThinning::Reset() {
  lock_.Release();
  is_open_ = true;
  lead_kind_ = {};
  lead_source_ = {};
  marks_since_lead_ = leads_of_group_ = 0;
  groups_ = used_bytes_ = 0;
  period_groups_ = group_of_period_ = kept_group_ = left_out_ = 0;
  is_fetch_left_out_ = false;
  train_mode_ = UINT64_MAX;
}

MarkThinning::Choice MarkThinning::Choose(const trace::MarkRecord& mark, uint64_t room_bytes) {
  SpinLockHolder holder(lock_);
  if (!holder) return {.keeps = is_open_};
  if (mark.kind == MarkKind::kTrainMode) {
    const bool is_change = mark.value != train_mode_;
    train_mode_ = mark.value;
    return {.keeps = is_change || is_open_};
  }
  if (mark.kind == MarkKind::kFetchStop && is_fetch_left_out_) {
    is_fetch_left_out_ = false;
    return {.needs_fetch = true, .fetch_value = fetch_value_};
  }
  if (!trace::IsOfAStep(mark.kind)) return {};
  Choice choice;
  if (IsLead(mark) && leads_of_group_++ % trace::kStepsOfAGroup == 0) {
    BeginGroup(room_bytes);
    choice.groups = groups_;
    choice.begins_group = is_open_;
    if (is_open_) {
      choice.left_out = left_out_;
      left_out_ = 0;
    } else {
      ++left_out_;
    }
  }
  choice.keeps = is_open_;
  if (is_open_) used_bytes_ += kMarkBytes + mark.name.size();
  if (mark.kind == MarkKind::kFetchBegin) {
    is_fetch_left_out_ = !is_open_;
    fetch_value_ = mark.value;
  } else if (mark.kind == MarkKind::kFetchEnd) {
    is_fetch_left_out_ = false;
  }
  return choice;
}

uint64_t MarkThinning::TakeLeftOut() {
  SpinLockHolder holder(lock_);
  return holder ? std::exchange(left_out_, 0) : 0;
}

// Whether the mark ends a step. A program that marks none has another kind of mark taken for it.
bool MarkThinning::IsLead(const trace::MarkRecord& mark) {
  ++marks_since_lead_;
  const bool ends_step = mark.kind == MarkKind::kStep || mark.kind == MarkKind::kExplicitStep;
  if ((lead_kind_ == MarkKind{} && ends_step) || marks_since_lead_ > kMostMarksOfAStep) {
    lead_kind_ = mark.kind;
    lead_source_ = mark.source;
  }
  if (mark.kind != lead_kind_ || mark.source != lead_source_) return false;
  marks_since_lead_ = 0;
  return true;
}

void MarkThinning::BeginGroup(uint64_t room_bytes) {
  ++groups_;
  if (group_of_period_ == period_groups_) {
    const uint64_t left = std::max<uint64_t>(room_bytes - std::min(used_bytes_, room_bytes), 1);
    const uint64_t rarer = std::bit_floor(room_bytes / left | 1);
    period_groups_ = std::clamp<uint64_t>(groups_ / kGroupsAtLeast, 1, rarer * rarer);
    group_of_period_ = 0;
    kept_group_ = random_.Next() % period_groups_;
  }
  is_open_ = group_of_period_++ == kept_group_;
}

}  // namespace plateau
