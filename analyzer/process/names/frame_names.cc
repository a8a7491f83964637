#include "analyzer/process/names/frame_names.h"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/symbols/python_lines.h"

namespace plateau::process {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Python keeps a byte of a file name that is no UTF-8 as a lone surrogate, U+DC80 to U+DCFF; here it is a
// byte again, as the file system has it.
std::string FileSystemName(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(name[at]); };
    const bool is_escaped = byte(i) == 0xed && i + 2 < name.size() && (byte(i + 1) & 0xfe) == 0xb2;
    if (!is_escaped) {
      out += name[i];
      continue;
    }
    out += static_cast<char>((byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f));
    i += 2;
  }
  return out;
}

bool IsStandardLibrary(const Frame& frame) {
  return absl::StartsWith(frame.function, "std::") || absl::StartsWith(frame.function, "__gnu_cxx::") ||
         absl::StartsWith(frame.function, "void std::") || absl::StartsWith(frame.function, "operator new") ||
         absl::StartsWith(frame.file, "/usr/include/");
}

// A location without a module and with so small an offset is no address: the stack was cut there, and the
// offset says why (unwind::StackEnd).
constexpr uint64_t kFirstAddress = 4096;

std::string TruncationName(uint64_t reason) {
  static constexpr const char* kReasons[] = {nullptr,
                                             nullptr,
                                             "too deep",
                                             "code made at run time",
                                             "code without unwind information",
                                             "unwind information not understood",
                                             "damaged stack",
                                             "table full"};
  const char* const words = reason < std::size(kReasons) ? kReasons[reason] : nullptr;
  return words == nullptr ? "[truncated]" : absl::StrCat("[truncated: ", words, "]");
}

}  // namespace

const std::vector<Frame>& FrameNames::Of(uint32_t location) {
  const auto it = named_.find(location);
  if (it != named_.end()) return it->second;
  return named_[location] = Name(location);
}

// A decorated function begins at its first decorator, and code that a compiler put in place of its own has no other
// line: the one with its name says more.
int FrameNames::BehindDecorators(const std::string& file, int first_line, int line) {
  constexpr int kMostDecorators = 16;
  if (line != first_line) return line;
  for (int i = 0; i < kMostDecorators; ++i) {
    const std::string text = source_.Line(file, line + i);
    if (absl::StartsWith(text, "def ") || absl::StartsWith(text, "async def ")) return line + i;
    if (i == 0 && !absl::StartsWith(text, "@")) break;
  }
  return line;
}

std::vector<Frame> FrameNames::Name(uint32_t location) {
  using Kind = replay::Location::Kind;
  if (location >= definitions_.locations.size()) return {{.function = "[unknown frame]"}};
  const replay::Location& where = definitions_.locations[location];
  if (where.kind == Kind::kPython && where.owner < definitions_.codes.size()) {
    const replay::CodeObject& code = definitions_.codes[where.owner];
    int line = symbols::PythonLine(code.python_version, static_cast<int>(code.first_line), code.line_table,
                                   static_cast<uint32_t>(where.offset));
    line = BehindDecorators(FileSystemName(code.file), static_cast<int>(code.first_line), line);
    return {{.function = code.name.empty() ? "<code>" : code.name,
             .file = cells_.Title(FileSystemName(code.file)),
             .line = line,
             .kind = "python"}};
  }
  if (where.kind != Kind::kNative) return {{.function = "[unknown frame]"}};
  if (where.owner == 0 && where.offset < kFirstAddress) return {{.function = TruncationName(where.offset)}};
  if (where.owner == 0 || where.owner >= definitions_.modules.size()) {
    return {{.function = absl::StrCat("0x", absl::Hex(where.offset)), .module = "[no module]"}};
  }
  const replay::Module& module = definitions_.modules[where.owner];
  std::vector<Frame> frames;
  for (const symbols::SourceFrame& source : symbolizer_.Resolve(module.path, module.build_id, where.offset)) {
    frames.push_back(
        {.function = source.function, .file = source.file, .line = source.line, .module = module.path});
  }
  if (frames.empty()) frames.push_back({.module = module.path});
  for (Frame& frame : frames) {
    if (frame.function.empty())
      frame.function = absl::StrCat(BaseName(module.path), "+0x", absl::Hex(where.offset));
  }
  return frames;
}

const Frame& FrameNames::Shown(uint32_t location) {
  const std::vector<Frame>& frames = Of(location);
  for (const Frame& frame : frames) {
    if (!IsStandardLibrary(frame)) return frame;
  }
  return frames.back();
}

std::vector<const Frame*> FrameNames::Stack(uint32_t node) {
  std::vector<const Frame*> stack;
  for (; node != 0; node = definitions_.nodes[node].parent) {
    for (const Frame& frame : Of(definitions_.nodes[node].location)) stack.push_back(&frame);
  }
  return stack;
}

std::string SiteTitle(const Frame& frame) {
  const bool is_cell = absl::StartsWith(frame.file, "In [");
  if (is_cell && absl::StartsWith(frame.function, "<")) return absl::StrCat(frame.file, ":", frame.line);
  if (!frame.file.empty() && frame.line > 0) {
    return absl::StrCat(BaseName(frame.file), ":", frame.line, " in ", frame.function);
  }
  const std::string module = BaseName(frame.module);
  if (module.empty() || absl::StartsWith(frame.function, absl::StrCat(module, "+0x"))) return frame.function;
  return absl::StrCat(frame.function, " in ", module);
}

}  // namespace plateau::process
