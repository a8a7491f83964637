// What one process would say at the top of a report, and which of several does.
//
// A headline is small, unlike the analysis it is made from: it is kept until all processes were seen.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_HEADLINE_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_HEADLINE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

struct ProcessHeadline {
  verdict::ProcessVerdict verdict;
  Verdict words;
  Steps steps;
  std::vector<LedgerReading> ledger;
  std::vector<PoolSummary> pools;
  std::vector<TestedHypothesis> hypotheses;
  std::vector<MatchedPattern> patterns;
  std::vector<LibraryAllocator> allocators;
  HeapHoles heap_holes;
  HolderLooks holders;
  std::optional<Attached> attached;
  std::vector<Phase> phases;
  std::vector<TensorCurve> tensors;
  std::vector<Device> devices;
  std::vector<double> axis_steps;
  std::vector<double> axis_seconds;
  double peak_step = 0;
  double peak_bytes = 0;
  std::string site;  // the name of the headline's site, if it has one
  bool is_worker = false;
  bool ended_before_parent = false;
  double begin_seconds = 0;  // from the start of the recording
  double end_seconds = 0;
  std::string command;
  std::string ending;
  trace::FileHeader header;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<std::string, std::string>> levels;
  std::string clock_sentence;
};

ProcessHeadline HeadlineOf(const process::ProcessAnalysis& process);

// The index of the process that speaks for the recording; there must be one.
size_t ChooseHeadline(const std::vector<ProcessHeadline>& headlines);

// Puts "In a worker, " before the headline of a worker.
void SayInAWorker(ProcessHeadline* speaker);

// "This is process 4251, one of 4 workers; ...": what a headline of a worker must add.
std::string WhichWorker(const std::vector<ProcessHeadline>& headlines, size_t chosen);

// Adds a sentence about other processes to what is said of this one.
void AddSentence(absl::string_view text, Verdict* words);

// An all-clear of the training process says what its workers keep all the same, if that is worth a word.
void NameWhatWorkersKeep(const std::vector<ProcessHeadline>& headlines, ProcessHeadline* chosen);

// "6 of 7 processes grow at this line, together 5.8 times as much; the rate and the forecast are those of process 4251
// alone.": what a headline of growth must add where others of the recording grow at the same line, as workers of a server
// do. Empty else.
std::string WhoElseGrows(const std::vector<ProcessHeadline>& headlines, size_t chosen);

// The process whose command line is the title of the report. A launcher (a shell, `env`, a shim of pyenv, torchrun)
// comes first in a recording and says little about what trained, so the process that the verdict is about gives the
// title; for a worker the process that it serves does.
size_t TitleProcess(const std::vector<ProcessHeadline>& headlines, size_t chosen);

// Takes back an all-clear when `unread` traces of the recording could not be read: what grows may be in them.
void RefuseAllClear(size_t unread, ProcessHeadline* headline);

// Moves what the chosen process says into the model.
void MoveIntoModel(ProcessHeadline* chosen, ReportModel* model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_HEADLINE_H_
