#include "analyzer/report/bundle/anonymizer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace plateau::report {
namespace {

// Libraries whose names and functions say nothing about who runs them.
bool IsPublicModule(absl::string_view module) {
  const size_t slash = module.rfind('/');
  if (slash != absl::string_view::npos) module = module.substr(slash + 1);
  for (absl::string_view start :
       {"libc.so",  "libm.so", "libstdc++", "libgcc_s",  "libpthread", "ld-linux",  "libpython", "python",
        "libtorch", "libc10",  "libcuda",   "libcudart", "libcublas",  "libcudnn",  "libnccl",   "libgomp",
        "libmkl",   "libdnnl", "libz.so",   "_imaging",  "libplateau", "_C.cpython"}) {
    if (absl::StartsWith(module, start)) return true;
  }
  return false;
}

// Path components that every machine has.
bool IsPublicComponent(absl::string_view part) {
  static constexpr absl::string_view kKnown[] = {
      "",          "usr", "lib",           "lib64",         "bin",
      "local",     "opt", "site-packages", "dist-packages", "torch",
      "numpy",     "src", "include",       "logging",       "json",
      "home",      "tmp", "root",          "transformers",  "__init__.py",
      "codecs.py", "."};
  for (absl::string_view known : kKnown) {
    if (part == known) return true;
  }
  return absl::StartsWith(part, "python3") || IsPublicModule(part);
}

bool IsPublicPath(absl::string_view file) {
  return absl::StartsWith(file, "/usr/lib/python") || absl::StrContains(file, "/site-packages/torch/") ||
         absl::StrContains(file, "/dist-packages/torch/") ||
         absl::StrContains(file, "/site-packages/numpy/") || absl::StartsWith(file, "aten/src/") ||
         absl::StartsWith(file, "<frozen ");
}

bool IsBracketed(absl::string_view name) {
  return !name.empty() && name[0] == '[' && name[name.size() - 1] == ']';
}

std::string Extension(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == absl::string_view::npos || dot == 0 || name.size() - dot > 5 ? ""
                                                                             : std::string(name.substr(dot));
}

// Every text of a report that is written in words.
template <typename Visit>
void ForEachText(ReportModel& model, Visit visit) {
  auto each = [&](std::vector<std::string>& texts) { std::for_each(texts.begin(), texts.end(), visit); };
  visit(model.verdict.sentence);
  each(model.verdict.why);
  each(model.verdict.next_steps);
  for (Forecast& f : model.verdict.forecasts) visit(f.sentence);
  for (Site& s : model.sites) visit(s.evidence);
  for (Hypothesis& h : model.hypotheses) visit(h.evidence);
  for (Pattern& p : model.patterns) visit(p.evidence);
  for (Pool& p : model.pools) visit(p.evidence);
  for (Process& p : model.processes) {
    visit(p.role);
    visit(p.ending);
  }
  for (BreakdownItem& b : model.breakdown) visit(b.how);
  for (Phase& p : model.phases) visit(p.label);
  for (Leftover& l : model.leftovers) visit(l.explanation);
  each(model.recording.notes);
  each(model.losses.messages);
  visit(model.recording.ending);
  for (auto& [key, value] : model.recording.environment) visit(value);
}

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Anonymizer::Anonymizer(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& word) { return word.size() < 2; });
}

std::string Anonymizer::StandIn(const std::string& kind, const std::string& original) {
  const auto at = stand_ins_.find(original);
  if (at != stand_ins_.end()) return at->second;
  const std::string name = absl::StrCat(kind, ++counts_[kind]);
  stand_ins_[original] = name;
  return name;
}

std::string Anonymizer::Path(const std::string& path) {
  if (path.empty() || IsBracketed(path)) return path;
  std::vector<std::string> out;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (IsPublicComponent(part)) {
      out.emplace_back(part);
      continue;
    }
    const std::string extension = Extension(part);
    const std::string original(part);
    if (stand_ins_.count(original) == 0) {
      stand_ins_[original] =
          absl::StrCat(extension.empty() ? "folder" : "file", ++counts_["path"], extension);
    }
    out.push_back(stand_ins_[original]);
  }
  std::string joined;
  for (size_t i = 0; i < out.size(); ++i) absl::StrAppend(&joined, i > 0 ? "/" : "", out[i]);
  return joined;
}

std::string Anonymizer::Module(const std::string& module) {
  if (module.empty() || IsBracketed(module)) return module;
  return Path(module);
}

std::string Anonymizer::Function(const std::string& function, const std::string& file,
                                 const std::string& module) {
  if (function.empty() || IsBracketed(function)) return function;
  const bool is_public = file.empty() ? IsPublicModule(module) : IsPublicPath(file);
  if (is_public || function == "<module>" || function == "main" || function == "_start") return function;
  return StandIn("function", function);
}

// Registers the parts of every absolute path that a text mentions: notes name files no frame is in.
void Anonymizer::LearnPaths(const std::string& text) {
  for (size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at)) {
    const bool starts = at == 0 || absl::StrContains(" \t\"'`(<[=:", absl::string_view(&text[at - 1], 1));
    const size_t end = std::min(text.find_first_of(" \t\"'`)>],;:", at), text.size());
    if (starts && end > at + 1) Path(text.substr(at, end - at));
    at = end;
  }
}

// Whole names only: "data" inside "database" is another word.
std::string Anonymizer::Sentence(const std::string& text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    bool replaced = false;
    const bool starts = at == 0 || !IsWordCharacter(text[at - 1]) || !IsWordCharacter(text[at]);
    if (starts) {
      for (const auto& [original, stand_in] : replacements_) {
        if (text.compare(at, original.size(), original) != 0) continue;
        const size_t end = at + original.size();
        if (end < text.size() && IsWordCharacter(text[end]) && IsWordCharacter(original.back())) continue;
        out += stand_in;
        at = end;
        replaced = true;
        break;
      }
    }
    if (!replaced) out += text[at++];
  }
  for (const std::string& secret : secrets_) {
    if (absl::StrContains(out, secret)) out = absl::StrReplaceAll(out, {{secret, "[removed]"}});
  }
  return out;
}

void Anonymizer::AnonymizeFrames(ReportModel& model) {
  for (Frame& frame : model.frames) {
    frame.function = Function(frame.function, frame.file, frame.module);
    frame.file = Path(frame.file);
    frame.module = Module(frame.module);
  }
}

void Anonymizer::AnonymizeSites(ReportModel& model) {
  for (Site& site : model.sites) {
    const std::string function = Function(site.function, site.file, site.module);
    const std::string file = Path(site.file);
    if (!site.file.empty()) {
      const std::string name = absl::StrCat(file, site.line > 0 ? absl::StrCat(":", site.line) : "",
                                            function.empty() ? "" : " in ", function);
      if (name != site.site) stand_ins_.try_emplace(site.site, name);
      site.site = name;
    } else if (!IsBracketed(site.site)) {
      site.site = function.empty() ? StandIn("site", site.site) : function;
    }
    site.function = function;
    site.file = file;
    site.module = Module(site.module);
    site.source_line.clear();
    for (Share& share : site.threads) {
      if (share.name != "MainThread" && !IsBracketed(share.name)) share.name = StandIn("thread", share.name);
    }
  }
}

void Anonymizer::AnonymizeRecording(ReportModel& model) {
  RecordingInfo& r = model.recording;
  // Every word of the command line is a name; the words themselves are replaced wherever they occur.
  for (absl::string_view word : absl::StrSplit(r.command, ' ', absl::SkipEmpty())) {
    if (word.size() > 2 && !IsPublicComponent(word) && !absl::StartsWith(word, "-")) Path(std::string(word));
  }
  r.command = "[command removed]";
  r.path = Path(r.path);
  r.started_utc.clear();
  std::erase_if(r.environment, [](const auto& entry) {
    return entry.first != "kernel" && entry.first != "python" && entry.first != "torch" &&
           entry.first != "plateau" && entry.first != "cuda" && entry.first != "libc";
  });
}

void Anonymizer::AnonymizeProcesses(ReportModel& model) {
  std::map<int64_t, int64_t> pids;
  auto renumber = [&pids](int64_t pid) {
    return pids.try_emplace(pid, static_cast<int64_t>(pids.size()) + 1).first->second;
  };
  for (Process& p : model.processes) {
    p.pid = renumber(p.pid);
    p.parent_pid = renumber(p.parent_pid);
    p.exe = Path(p.exe);
    p.command = "[command removed]";
  }
  for (Site& site : model.sites) {
    for (Share& share : site.processes) {
      std::vector<std::string> words = absl::StrSplit(share.name, absl::MaxSplits(' ', 1));
      int64_t pid = 0;
      if (absl::SimpleAtoi(words[0], &pid)) {
        share.name = absl::StrCat(renumber(pid), words.size() > 1 ? absl::StrCat(" ", words[1]) : "");
      } else {
        share.name = StandIn("process", share.name);
      }
    }
  }
}

ReportModel Anonymizer::Anonymize(const ReportModel& model) {
  ReportModel out = model;
  AnonymizeFrames(out);
  AnonymizeSites(out);
  AnonymizeRecording(out);
  AnonymizeProcesses(out);

  ForEachText(out, [this](std::string& text) { LearnPaths(text); });
  replacements_.assign(stand_ins_.begin(), stand_ins_.end());
  std::erase_if(replacements_, [](const auto& entry) { return entry.first.empty(); });
  std::sort(replacements_.begin(), replacements_.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a.first < b.first;
  });
  ForEachText(out, [this](std::string& text) { text = Sentence(text); });
  return out;
}

std::vector<std::string> Anonymizer::Leaks(absl::string_view bytes) const {
  std::vector<std::string> found;
  for (const std::string& secret : secrets_) {
    if (absl::StrContains(bytes, secret)) found.push_back(secret);
  }
  // Short names such as "f" or "log" are words of our own texts; a path or a longer name is not.
  for (const auto& [original, stand_in] : stand_ins_) {
    const bool telling = absl::StrContains(original, "/") || original.size() >= 9;
    if (telling && absl::StrContains(bytes, original)) found.push_back(original);
  }
  return found;
}

}  // namespace plateau::report
