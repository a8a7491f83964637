// What the accounts tell the observer: sums of sites, runs of deaths, sampled changes.
#include "analyzer/replay/heap_accounts.h"

namespace plateau::replay {
namespace {

// How many runs of deaths, and how many sampled changes, wait to be told together.
constexpr size_t kMostToTell = 256;

}  // namespace

SiteTally* HeapAccounts::TallyFor(const SampledChange& change) {
  if (observer_ == nullptr) return nullptr;
  SiteTally& tally = tallies_[change.site];
  const bool begins_sampling = change.weight != 1 && !tally.is_sampled;
  if (begins_sampling) {  // with what is there now, and nothing that comes later
    TellDeaths();
    TellTally(change.site);
    tally.is_sampled = true;
  }
  if (!tally.is_listed) {
    tally.is_listed = true;
    touched_.push_back(change.site);
  }
  tally.is_plain = !tally.is_sampled;
  if (tally.is_sampled) {
    sampled_.push_back(change);
    if (begins_sampling || sampled_.size() >= kMostToTell) TellSampled();
  }
  const bool is_old = !change.is_birth && change.birth != bucket_;
  if (is_old && change.birth != tally.run_birth) {
    if (tally.has_run()) deaths_.push_back({tally.run, change.site, tally.run_birth});
    tally.BeginRun(change.birth);
    if (deaths_.size() >= kMostToTell) TellDeaths();
  }
  return &tally;
}

void HeapAccounts::TellTally(uint32_t site) {
  if (!tallies_[site].is_listed) return;
  observer_->OnTally(site, tallies_[site], bucket_);
  tallies_[site].Clear();
}

void HeapAccounts::TellDeaths() {
  if (!deaths_.empty()) observer_->OnDeaths(deaths_, bucket_);
  deaths_.clear();
}

void HeapAccounts::TellSampled() {
  if (!sampled_.empty()) observer_->OnSampled(sampled_, bucket_);
  sampled_.clear();
}

void HeapAccounts::TellObserver() {
  if (observer_ == nullptr) return;
  TellDeaths();
  TellSampled();
  for (const uint32_t site : touched_) {
    TellTally(site);
    tallies_[site].is_listed = false;
  }
  touched_.clear();
}

}  // namespace plateau::replay
