#include "analyzer/process/holders/path_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "preload/trace/decoder.h"

namespace plateau::process {
namespace {

using replay::PathSegment;
using trace::SegmentKind;

// " (train.py:31)" of a frame or generator whose file follows it.
std::string Place(const std::vector<PathSegment>& path, size_t at) {
  const bool has_file = at + 1 < path.size() && path[at + 1].kind == SegmentKind::kFile;
  if (!has_file) return "";
  const std::string& file = path[at + 1].text;
  if (path[at].number == 0) return absl::StrCat(" (", file, ")");
  return absl::StrCat(" (", file, ":", path[at].number, ")");
}

std::string KeyText(const PathSegment& key) {
  enum : uint64_t { kAny = 0, kString = 1, kBytes = 2 };
  switch (key.number) {
    case kAny:
      return "[*]";
    case kString:
      return absl::StrCat("['", absl::Utf8SafeCEscape(key.text), "']");
    case kBytes:
      return absl::StrCat("[b'", absl::CEscape(key.text), "']");
    default:
      return absl::StrCat("[", absl::Utf8SafeCEscape(key.text), "]");
  }
}

bool IsOneOf(SegmentKind kind, std::initializer_list<SegmentKind> kinds) {
  for (const SegmentKind one : kinds) {
    if (kind == one) return true;
  }
  return false;
}

class Writer {
 public:
  Writer(const std::vector<PathSegment>& path, size_t container_segments)
      : path_(path), container_segments_(container_segments) {}

  PathText Write() {
    for (size_t at = 0; at < path_.size(); ++at) {
      if (at == container_segments_ && at > 0) EndContainer();
      Add(at);
    }
    if (container_segments_ > 0 && container_segments_ == path_.size()) EndContainer();
    return std::move(out_);
  }

 private:
  void EndContainer() {
    out_.container = out_.text;
    out_.container_links = out_.links.size();
  }

  void Link(const PathSegment& segment, std::string text) {
    if (text.empty()) return;
    const bool is_user_data = IsOneOf(segment.kind, {SegmentKind::kKey}) && segment.number != 0;
    out_.text += text;
    out_.links.push_back({trace::SegmentKindName(segment.kind), std::move(text), is_user_data});
  }

  // The name of something that the thing before it has.
  void Name(const PathSegment& segment) {
    Link(segment, absl::StrCat(out_.text.empty() ? "" : ".", segment.text));
  }

  // " -> autograd graph": where the chain leaves what a line of code could write.
  void Step(const PathSegment& segment, const std::string& text) {
    Link(segment, absl::StrCat(out_.text.empty() ? "" : " -> ", text));
  }

  void Add(size_t at) {
    const PathSegment& s = path_[at];
    switch (s.kind) {
      case SegmentKind::kModule:
        out_.root = absl::StrCat("module ", s.text);
        if (s.text != "__main__") Name(s);
        return;
      case SegmentKind::kFrame:
        if (at == 0) {
          out_.root = absl::StrCat("a local of ", s.text, "()", Place(path_, at));
        } else {
          Step(s, absl::StrCat(s.text, "()", Place(path_, at)));
        }
        return;
      case SegmentKind::kFile:
        return;  // said with the frame
      case SegmentKind::kInterpreter:
        out_.root = absl::StrCat("the interpreter: ", s.text);
        return Step(s, absl::StrCat("[", s.text, "]"));
      case SegmentKind::kNative:
        out_.root = "C or C++";
        return Step(s, absl::StrCat("an object of type ", s.text, " that C or C++ holds"));
      case SegmentKind::kThreadLocal:
        out_.root = "a local of a thread";
        return Step(s, s.text.empty() ? "threading.local" : s.text);
      case SegmentKind::kContextVar:
        out_.root = "a context variable";
        return Step(s, s.text);
      case SegmentKind::kAttribute:
        return s.text.empty() && s.number == 1 ? Name({s.kind, 1, "*"}) : Name(s);
      case SegmentKind::kGlobal:
      case SegmentKind::kSlot:
      case SegmentKind::kTypeDict:
      case SegmentKind::kLocal:
        return Name(s);
      case SegmentKind::kKey:
        return Link(s, KeyText(s));
      case SegmentKind::kKeyItself:
        return Link(s, "{a key}");
      case SegmentKind::kMember:
        return Link(s, "{*}");
      case SegmentKind::kIndex:
        return Link(s, s.number == 0 ? "[*]" : absl::StrCat("[", s.number - 1, "]"));
      case SegmentKind::kCell:
        return Step(s, absl::StrCat("closure's ", s.text));
      case SegmentKind::kDefault:
        return Step(s, s.text.empty() ? "a default value" : absl::StrCat("default of ", s.text));
      case SegmentKind::kGenerator:
        return Step(s, absl::StrCat("generator ", s.text, Place(path_, at)));
      case SegmentKind::kTraceback:
        return Step(s, "traceback");
      case SegmentKind::kContext:
        return Name({s.kind, 0, s.text.empty() ? "__context__" : s.text});
      case SegmentKind::kSelf:
        return Name({s.kind, 0, "__self__"});
      case SegmentKind::kFunction:
        return Step(s, s.text.empty() ? "function" : absl::StrCat(s.text, "()"));
      case SegmentKind::kBuffer:
        return Step(s, "its buffer");
      case SegmentKind::kInside:
        return Step(s, absl::StrCat("inside ", s.text));
      case SegmentKind::kGraph:
        return Graph(at);
      case SegmentKind::kNativeClass:
        return Step(s, absl::StrCat("C++ ", s.text));
      case SegmentKind::kRepeat:
        return Link(s, s.number == 0 ? " (repeated)" : absl::StrCat(" (and ", s.number, " more)"));
      case SegmentKind::kWeakCallback:
        return Step(s, "callback of a weak reference");
    }
    if (!s.text.empty()) Step(s, absl::CHexEscape(s.text));
  }

  // Nodes of one graph are said to be of it once.
  void Graph(size_t at) {
    const bool is_first = at == 0 || path_[at - 1].kind != SegmentKind::kGraph;
    Step(path_[at], is_first ? absl::StrCat("autograd graph -> ", path_[at].text) : path_[at].text);
  }

  const std::vector<PathSegment>& path_;
  size_t container_segments_;
  PathText out_;
};

}  // namespace

PathText TextOfPath(const std::vector<PathSegment>& path, size_t container_segments) {
  return Writer(path, container_segments).Write();
}

}  // namespace plateau::process
