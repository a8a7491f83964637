#include "analyzer/report/bundle/anonymizer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

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

// Where the part of a path begins that every installation of Python, numpy or torch has; its size when none.
size_t PublicTail(absl::string_view file) {
  for (absl::string_view start : {"/usr/lib/python", "aten/src/", "<frozen "}) {
    if (absl::StartsWith(file, start)) {
      // What others put into the system's Python is theirs.
      const size_t packages = file.find("-packages/");
      if (packages == absl::string_view::npos) return 0;
    }
  }
  for (absl::string_view package :
       {"-packages/torch/", "-packages/numpy/", "-packages/transformers/", "-packages/torchvision/"}) {
    if (const size_t at = file.find(package); at != absl::string_view::npos) return at;
  }
  return file.size();
}

bool IsPublicPath(absl::string_view file) { return PublicTail(file) < file.size(); }

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
  visit(model.verdict.summary);
  visit(model.verdict.site);
  visit(model.verdict.sentence);
  each(model.verdict.held_by);
  visit(model.holders.skipped_why);
  visit(model.holders.sentence);
  each(model.verdict.why);
  each(model.verdict.next_steps);
  for (Forecast& f : model.verdict.forecasts) visit(f.sentence);
  for (Site& s : model.sites) visit(s.evidence);
  for (TestedHypothesis& h : model.hypotheses) visit(h.evidence);
  for (MatchedPattern& p : model.patterns) visit(p.evidence);
  for (PoolSummary& p : model.pools) visit(p.evidence);
  for (Process& p : model.processes) {
    visit(p.role);
    visit(p.ending);
  }
  for (BreakdownItem& b : model.breakdown) visit(b.how);
  for (LibraryAllocator& a : model.allocators) {
    visit(a.name);
    visit(a.site);
    visit(a.sentence);
  }
  visit(model.heap_holes.sentence);
  for (HoleHolder& h : model.heap_holes.holders) visit(h.site);
  visit(model.last_minutes.sentence);
  for (auto* askers : {&model.last_minutes.asked, &model.last_minutes.largest}) {
    for (LastAsker& asker : *askers) visit(asker.site);
  }
  each(model.last_minutes.refused);
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

// The next place where a name stands for itself: "tom" in "/home/tom" and "tom-2", not in "bottom".
size_t FindName(absl::string_view text, absl::string_view name, size_t from) {
  auto joins = [](char a, char b) { return absl::ascii_isalnum(a) && absl::ascii_isalnum(b); };
  for (size_t at = text.find(name, from); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !joins(text[at - 1], name.front());
    if (begins && (end == text.size() || !joins(name.back(), text[end]))) return at;
  }
  return absl::string_view::npos;
}

// How a site is titled: with the whole path or the last part of it, as the original was.
std::string Title(const Site& site, const std::string& file, const std::string& function,
                  const std::string& module, bool is_short) {
  auto part = [&](const std::string& path) { return is_short ? path.substr(path.rfind('/') + 1) : path; };
  if (!site.file.empty() && site.line > 0) {
    return absl::StrCat(part(file), ":", site.line, function.empty() ? "" : " in ", function);
  }
  if (!site.file.empty()) return absl::StrCat(part(file), function.empty() ? "" : " in ", function);
  return site.module.empty() ? function : absl::StrCat(function, " in ", part(module));
}

}  // namespace

Anonymizer::Anonymizer(std::vector<std::string> secrets, std::string own_words)
    : secrets_(std::move(secrets)), own_words_(std::move(own_words)) {
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
  const size_t public_from = PublicTail(path);
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (IsPublicComponent(part) || static_cast<size_t>(part.data() - path.data()) >= public_from) {
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
      for (const auto& [original, stand_in, is_own_word] : replacements_) {
        if (text.compare(at, original.size(), original) != 0) continue;
        const size_t end = at + original.size();
        const bool in_path = (at > 0 && text[at - 1] == '/') || (end < text.size() && text[end] == '/');
        if (is_own_word && !in_path) continue;  // "data" in a sentence is not the folder of that name
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
    for (size_t at = FindName(out, secret, 0); at != std::string::npos; at = FindName(out, secret, at))
      out.replace(at, secret.size(), "[removed]");
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
    const std::string module = Module(site.module);
    if (!IsBracketed(site.site)) {
      const bool is_short = site.site == Title(site, site.file, site.function, site.module, true);
      const bool is_known =
          is_short || site.site == Title(site, site.file, site.function, site.module, false);
      const std::string title =
          !is_known && !site.function.empty()
              ? function
              : (is_known ? Title(site, file, function, module, is_short) : StandIn("site", site.site));
      if (title != site.site) stand_ins_.try_emplace(site.site, title);
      site.site = title;
    }
    site.function = function;
    site.file = file;
    site.module = module;
    for (HolderPath& path : site.held_by) AnonymizeHolder(&path);
    site.source_line.clear();
    site.excerpt.clear();
    site.stored_at_text.clear();
    site.library.clear();
    for (Share& share : site.threads) {
      if (share.name != "MainThread" && !IsBracketed(share.name)) share.name = StandIn("thread", share.name);
    }
  }
}

// A key is data of the user, a name is a name of the user's program: both get stand-ins, the same one wherever they
// occur. How the path is built stays: "name1.name2[*]['key1']".
void Anonymizer::AnonymizeHolder(HolderPath* path) {
  const std::string old_text = path->text, old_container = path->container;
  std::string text, container;
  for (size_t i = 0; i < path->links.size(); ++i) {
    HolderLink& link = path->links[i];
    link.text = HolderLinkStandIn(link);
    text += link.text;
    if (static_cast<int64_t>(i) + 1 == path->container_links) container = text;
  }
  // What stands in front of the links says how the path ends, with the name of a site or of a type.
  if (path->end != "path") text = absl::StrCat(path->end, text.empty() ? "" : ": ", text);
  path->text = text;
  if (!old_container.empty()) path->container = container;
  path->root = absl::StrCat("a root of the ", path->root_owner);
  if (path->container_type.find('.') != std::string::npos)
    path->container_type = StandIn("type", path->container_type);
  if (!old_text.empty() && old_text != text) stand_ins_.try_emplace(old_text, text);
  if (!old_container.empty() && old_container != container) stand_ins_.try_emplace(old_container, container);
}

std::string Anonymizer::HolderLinkStandIn(const HolderLink& link) {
  if (link.is_user_data) return absl::StrCat("['", StandIn("key", link.text), "']");
  if (link.kind == "index" || link.kind == "key" || link.kind == "member" || link.kind == "key_itself" ||
      link.kind == "repeat" || link.kind == "traceback" || link.kind == "self" || link.kind == "buffer" ||
      link.kind == "context" || link.kind == "interpreter") {
    return link.text;
  }
  absl::string_view name = link.text;
  std::string before;
  for (absl::string_view start : {" -> ", "."}) {
    if (!absl::ConsumePrefix(&name, start)) continue;
    before = std::string(start);
    break;
  }
  if (name == "*") return link.text;  // any of many
  return absl::StrCat(
      before, StandIn(link.kind == "graph" || link.kind == "inside" ? "type" : "name", std::string(name)));
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
  replacements_.clear();
  for (const auto& [original, stand_in] : stand_ins_) {
    if (original.empty() || original == stand_in) continue;
    const bool is_own_word = FindName(own_words_, original, 0) != std::string::npos;
    replacements_.push_back({original, stand_in, is_own_word});
  }
  std::stable_sort(replacements_.begin(), replacements_.end(),
                   [](const auto& a, const auto& b) { return a.original.size() > b.original.size(); });
  ForEachText(out, [this](std::string& text) { text = Sentence(text); });
  return out;
}

std::vector<std::string> Anonymizer::Leaks(absl::string_view bytes, absl::string_view kept_names) const {
  auto occurs = [](absl::string_view text, const std::string& name) {
    return FindName(text, name, 0) != absl::string_view::npos;
  };
  std::vector<std::string> found;
  for (const std::string& secret : secrets_) {
    if (occurs(bytes, secret) && !occurs(own_words_, secret)) found.push_back(secret);
  }
  // Short names such as "f" or "log" are words of our own texts; a path or a longer name is not.
  for (const auto& [original, stand_in] : stand_ins_) {
    const bool is_telling = absl::StrContains(original, "/") || original.size() >= 9;
    if (!is_telling || original == stand_in || !occurs(bytes, original)) continue;
    if (!occurs(own_words_, original) && !occurs(kept_names, original)) found.push_back(original);
  }
  return found;
}

}  // namespace plateau::report
