#include "analyzer/report/builder/site_opinions.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/whole_number.h"
#include "analyzer/report/builder/holder_facts.h"
#include "analyzer/report/builder/tensor_curves.h"
#include "analyzer/report/builder/verdict_words.h"

namespace plateau::report {
void SiteOpinions::Add(const process::ProcessAnalysis& process, size_t site, size_t process_index,
                       size_t model_site, bool with_curves, Site* in_model) {
  Site& out = *in_model;
  if (opinions_.size() <= model_site) opinions_.resize(model_site + 1);
  if (process.IsGone() && !opinions_[model_site].empty()) return;  // others speak of what is still held
  TensorCurve tensors = TensorCurveOf(process, site);
  const bool has_tensors = !process.IsGone() && !tensors.live_count.empty() && tensors.live_count.back() > 0;
  if (has_tensors) {
    out.tensor_count += tensors.live_count.back();
    out.tensor_bytes += tensors.live_bytes.back();
  }
  if (site < process.memory.endings.size() && !process.IsGone()) {
    for (size_t i = 0; i < out.age_bytes.size(); ++i)
      out.age_bytes[i] += Round(process.memory.endings[site].age_bytes[i]);
  }
  if (site < process.memory.endings.size()) {
    const auto& phases = process.memory.endings[site].phase_bytes;
    const auto most = std::max_element(phases.begin(), phases.end());
    if (out.phase.empty() && *most > 0) {
      const auto phase = static_cast<series::BirthPhase>(most - phases.begin());
      out.phase = series::BirthPhaseName(phase);
      out.category = std::string(series::HeldAsName(series::HeldAsOf(phase, has_tensors)));
    }
  }
  if (site >= process.verdicts.sites.size()) return;
  const verdict::SiteAnalysis& analysis = process.verdicts.sites[site];
  Opinion opinion;
  opinion.process = process_index;
  opinion.verdict = std::string(verdict::VerdictName(analysis.verdict.kind));
  opinion.evidence = analysis.verdict.sentence;
  opinion.numbers = NumbersOf(analysis.verdict);
  if (!process.IsGone()) {
    opinion.growth_bytes_per_step = analysis.growth_bytes_per_step.value;
    opinion.growth_interval = analysis.growth_bytes_per_step.interval;
  }
  series::SiteSeries& series = series_;
  process.memory.series->Load(site, &series);
  double retained = 0;
  for (const double bytes : series.surv_bytes) retained += bytes;
  opinion.retained_bytes = process.IsGone() ? 0 : Round(retained);
  // Before the first step, or in the beginning of work that has no steps, a program loads what it works on.
  const bool has_training_steps = process.clock.steps.step_count() > 0 && process.clock.steps.loop().empty();
  const size_t start_up = has_training_steps ? 1 : 1 + series.surv_bytes.size() / 20;
  double grown = 0;
  for (size_t k = start_up; k < series.surv_bytes.size(); ++k) grown += series.surv_bytes[k];
  if (!process.IsGone()) out.grown_bytes += Round(grown);
  const int64_t width = process.memory.series->bucket_steps();
  bool is_first = true;
  for (size_t k = 0; k < series.alloc_bytes.size(); ++k) {
    if (series.alloc_count[k] + series.free_count[k] <= 0) continue;
    const double step = k == 0 ? 0.0 : static_cast<double>((static_cast<int64_t>(k) - 1) * width + 1);
    if (is_first && opinions_[model_site].empty()) out.first_step = step;
    is_first = false;
    out.last_step = std::max(out.last_step, step);
  }
  if (with_curves) {
    opinion.live_bytes = Rounded(series.LiveBytes());
    opinion.survivor_bytes = Rounded(series.surv_bytes);
    opinion.tensors = std::move(tensors);
  }
  if (site < process.holders.sites.size()) opinion.holding = process.holders.sites[site];
  opinions_[model_site].push_back(std::move(opinion));
}

void SiteOpinions::Settle(size_t chosen, std::vector<Site>* sites) {
  for (size_t i = 0; i < sites->size() && i < opinions_.size(); ++i) {
    Site& site = (*sites)[i];
    Opinion* best = nullptr;
    for (Opinion& opinion : opinions_[i]) {
      site.growth_bytes_per_step += opinion.growth_bytes_per_step;
      if (best == nullptr || opinion.retained_bytes > best->retained_bytes) best = &opinion;
      if (opinion.process == chosen) AddCurves(&site, opinion);
    }
    if (best == nullptr) continue;
    site.verdict = std::move(best->verdict);
    site.evidence = std::move(best->evidence);
    site.numbers = std::move(best->numbers);
    AddHolders(best->holding, best->retained_bytes, &site);
    if (opinions_[i].size() == 1) site.growth_interval = best->growth_interval;
  }
}

void SiteOpinions::AddCurves(Site* site, const Opinion& opinion) {
  const auto add = [](std::vector<int64_t>* to, const std::vector<int64_t>& from) {
    if (to->size() < from.size()) to->resize(from.size());
    for (size_t k = 0; k < from.size(); ++k) (*to)[k] += from[k];
  };
  add(&site->live_bytes, opinion.live_bytes);
  add(&site->survivor_bytes, opinion.survivor_bytes);
  add(&site->tensor_live_count, opinion.tensors.live_count);
  add(&site->tensor_live_bytes, opinion.tensors.live_bytes);
}

}  // namespace plateau::report
