#include "tests/support/trace_text.h"

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "preload/trace/holder_path.h"
#include "tests/support/text_loops.h"

namespace plateau::testing {
namespace {

using namespace plateau::trace;

// The words of one line: `kind`, then key=value pairs and bare flags.
class Line {
 public:
  Line(std::string text, int number) : text_(std::move(text)), number_(number) { Split(); }

  [[noreturn]] void Fail(const std::string& why) const {
    throw std::invalid_argument("line " + std::to_string(number_) + ": " + why + ": " + text_);
  }
  bool empty() const { return words_.empty(); }
  const std::string& word(size_t i) const {
    if (i >= words_.size()) Fail("too short");
    return words_[i];
  }
  void PopFront() { words_.erase(words_.begin()); }
  uint64_t Number(const std::string& key) const { return Parse(Text(key, "0")); }
  uint32_t Number32(const std::string& key) const { return static_cast<uint32_t>(Number(key)); }
  int64_t Signed(const std::string& key) const { return std::stoll(Text(key, "0"), nullptr, 0); }
  bool Flag(const std::string& name) const {
    for (const std::string& w : words_) {
      if (w == name) return true;
    }
    return false;
  }
  std::string Text(const std::string& key, const std::string& fallback = "") const {
    for (const std::string& w : words_) {
      if (w.size() > key.size() && w.compare(0, key.size(), key) == 0 && w[key.size()] == '=') {
        return w.substr(key.size() + 1);
      }
    }
    return fallback;
  }
  std::string Hex(const std::string& key) const {
    const std::string digits = Text(key);
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    return bytes;
  }
  uint64_t Parse(const std::string& number) const {
    try {
      return std::stoull(number, nullptr, 0);
    } catch (const std::exception&) {
      Fail("not a number");
    }
  }
  // key=number pairs whose key is not `except`.
  const std::vector<std::string>& words() const { return words_; }

 private:
  // At spaces, except within quotes, which go away with their escapes (\xHH, \n, \\, \").
  void Split() {
    std::string word;
    bool in_word = false, quoted = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted && c == '\\' && i + 1 < text_.size()) {
        const char e = text_[++i];
        if (e == 'x' && i + 2 < text_.size()) {
          word += static_cast<char>(std::stoi(text_.substr(i + 1, 2), nullptr, 16));
          i += 2;
        } else {
          word += e == 'n' ? '\n' : e == 't' ? '\t' : e;
        }
      } else if (c == '"') {
        quoted = !quoted;
        in_word = true;
      } else if (!quoted && c == '#') {
        break;
      } else if (!quoted && (c == ' ' || c == '\t')) {
        if (in_word) words_.push_back(word);
        word.clear();
        in_word = false;
      } else {
        word += c;
        in_word = true;
      }
    }
    if (quoted) Fail("quote without end");
    if (in_word) words_.push_back(word);
  }

  std::string text_;
  int number_;
  std::vector<std::string> words_;
};

template <typename Enum>
Enum ByName(const Line& line, const std::string& name, const char* (*name_of)(Enum), int count) {
  for (int i = 0; i < count; ++i) {
    if (name == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  line.Fail("unknown name " + name);
}

struct OpenBlock {
  alignas(8) std::array<uint8_t, sizeof(BlockHeader) + kSlotPayloadBytes> bytes;
  BlockWriter writer;
  BlockHeader* header() { return reinterpret_cast<BlockHeader*>(bytes.data()); }
  uint8_t* payload() { return bytes.data() + sizeof(BlockHeader); }
};

struct Stream {
  uint32_t next_seq = 0;
  uint64_t tsc = 0;
  bool stays_open = false;
  std::unique_ptr<OpenBlock> block;
};

class Builder {
 public:
  Builder() {
    std::memcpy(header_.magic, kFileMagic, sizeof(kFileMagic));
    header_.version_major = kVersionMajor;
    header_.version_minor = kVersionMinor;
    header_.header_bytes = kHeaderBytes;
    header_.pid = 100;
    header_.parent_pid = 1;
    header_.tsc_is_monotonic_ns = 1;
    header_.shared_ring = 1;
    header_.mode = static_cast<uint8_t>(Mode::kExact);
    header_.slot_bytes = kSlotBytes;
    header_.slots_per_extent = kSlotsPerExtent;
    header_.clean_exit = 1;
  }

  void Add(Line& line) {
    if (line.empty()) return;
    if (line.word(0) == "header") return Header(line);
    if (line.word(0) == "flip" || line.word(0) == "zero" || line.word(0) == "cut") {
      damage_.push_back(line);
      return;
    }
    if (line.word(0) == "stream") {
      current_ = static_cast<uint32_t>(line.Parse(line.word(1)));
      return;
    }
    Stream& stream = streams_[current_];
    if (line.word(0) == "seal") return Seal(stream);
    if (line.word(0) == "skip") {
      Seal(stream);
      stream.next_seq += static_cast<uint32_t>(line.Parse(line.word(1)));
      return;
    }
    if (line.word(0) == "open") {
      stream.stays_open = true;
      header_.clean_exit = 0;
      return;
    }
    uint64_t tsc = 0;
    if (line.word(0)[0] == '@') {
      tsc = line.Parse(line.word(0).substr(1));
      line.PopFront();
      stream.tsc = tsc;
    }
    if (!stream.block) Start(stream);
    if (Write(line, stream, tsc)) return;
    Seal(stream);
    Start(stream);
    if (!Write(line, stream, tsc)) line.Fail("does not fit into a block");
  }

  std::string Finish() {
    std::string ring;
    for (auto& [id, stream] : streams_) {
      if (!stream.block) continue;
      if (stream.stays_open) {
        AddSlot(id, stream, &ring);
      } else {
        Seal(stream);
      }
    }
    if (!ring.empty()) {
      ring.resize((ring.size() + kExtentBytes - 1) / kExtentBytes * kExtentBytes);
      header_.extent_count = static_cast<uint32_t>(ring.size() / kExtentBytes);
      for (uint32_t i = 0; i < header_.extent_count; ++i) {
        header_.extent_offset[i] = kHeaderBytes + data_.size() + i * kExtentBytes;
      }
    }
    header_.data_end = kHeaderBytes + data_.size() + ring.size();
    header_.stream_count = static_cast<uint32_t>(streams_.size());
    SealHeader(&header_);
    std::string file(kHeaderBytes, '\0');
    std::memcpy(file.data(), &header_, sizeof(header_));
    file += data_ + ring;
    for (const Line& damage : damage_) Damage(damage, &file);
    return file;
  }

 private:
  static void Damage(const Line& line, std::string* file) {
    const uint64_t at = line.Parse(line.word(1));
    const uint64_t bytes = line.word(0) == "zero" ? line.Parse(line.word(2)) : 1;
    if (at + bytes > file->size()) line.Fail("the file has only " + std::to_string(file->size()) + " bytes");
    if (line.word(0) == "flip") (*file)[at] ^= 1;
    if (line.word(0) == "zero") file->replace(at, bytes, bytes, '\0');
    if (line.word(0) == "cut") file->resize(at);
  }

  void Header(const Line& line) {
    const auto set = [&line](const char* key, auto* field) {
      if (!line.Text(key).empty())
        *field = static_cast<std::remove_pointer_t<decltype(field)>>(line.Number(key));
    };
    const std::string mode = line.Text("mode", "exact");
    header_.mode = static_cast<uint8_t>(mode == "exact" ? Mode::kExact : Mode::kDefault);
    set("version", &header_.version_major);
    set("minor", &header_.version_minor);
    set("pid", &header_.pid);
    set("parent", &header_.parent_pid);
    set("exact_from", &header_.exact_from_bytes);
    set("sample", &header_.sample_bytes);
    header_.python_sample_bytes = header_.sample_bytes;
    set("python_sample", &header_.python_sample_bytes);
    set("clean_exit", &header_.clean_exit);
    set("start_tsc", &header_.start_tsc);
    set("start_realtime_ns", &header_.start_realtime_ns);
    set("clock_realtime_ns", &header_.clock_realtime_ns);
    set("alloc_calls", &header_.ended_threads.alloc_calls);
    set("alloc_bytes", &header_.ended_threads.alloc_bytes);
    set("free_calls", &header_.ended_threads.free_calls);
    set("dropped_write", &header_.dropped_events[static_cast<size_t>(DropReason::kWrite)]);
    set("dropped_write_bytes", &header_.dropped_bytes[static_cast<size_t>(DropReason::kWrite)]);
  }

  void Start(Stream& stream) {
    stream.block = std::make_unique<OpenBlock>();
    stream.block->bytes.fill(0);
    stream.block->writer.Start(stream.block->header(), stream.block->payload(), kSlotPayloadBytes, current_,
                               stream.next_seq++, stream.tsc);
  }

  void Seal(Stream& stream) {
    if (!stream.block) return;
    OpenBlock& block = *stream.block;
    const BlockHeader sealed = SealedHeader(*block.header(), block.payload(), stream.tsc);
    data_.append(reinterpret_cast<const char*>(&sealed), sizeof(sealed));
    data_.append(reinterpret_cast<const char*>(block.payload()), sealed.payload_bytes);
    data_.resize((data_.size() + kBlockAlign - 1) / kBlockAlign * kBlockAlign);
    stream.block.reset();
  }

  void AddSlot(uint32_t id, Stream& stream, std::string* ring) {
    const size_t begin = ring->size();
    ring->resize(begin + kSlotBytes);
    SlotHeader slot{};
    slot.stream = id;
    std::memcpy(ring->data() + begin, &slot, sizeof(slot));
    std::memcpy(ring->data() + begin + sizeof(slot), stream.block->bytes.data(), stream.block->bytes.size());
  }

  // The segments of a holder's path: in="KIND,NUMBER,TEXT", root first.
  static HolderPathWriter Path(const Line& l) {
    HolderPathWriter path;
    for (const std::string& word : l.words()) {
      if (word.compare(0, 3, "in=") != 0) continue;
      const size_t number = word.find(','), text = word.find(',', number + 1);
      if (number == std::string::npos || text == std::string::npos) l.Fail("in=KIND,NUMBER,TEXT");
      const std::string segment = word.substr(text + 1);
      path.Add({ByName<SegmentKind>(l, word.substr(3, number - 3), SegmentKindName, 30),
                l.Parse(word.substr(number + 1, text - number - 1)), segment});
    }
    return path;
  }

  bool Write(const Line& l, Stream& stream, uint64_t tsc) {
    BlockWriter& w = stream.block->writer;
    const std::string& kind = l.word(0);
    const auto n = [&l](const char* key) { return l.Number(key); };
    const auto n32 = [&l](const char* key) { return l.Number32(key); };
    if (kind == "alloc") return w.Alloc({n("address"), n("bytes"), n32("stack"), l.Flag("realloc")}, tsc);
    if (kind == "free") return w.Free({n("address"), l.Flag("realloc")}, tsc);
    if (kind == "time") return w.Time(tsc);
    if (tsc != 0 && !w.Time(tsc)) return false;
    if (kind == "node") return w.Node({n32("node"), n32("parent"), n32("location")});
    if (kind == "pc") return w.Pc({n32("location"), n32("module"), n("offset")});
    if (kind == "info") return w.Info(l.Text("key"), l.Text("value"));
    if (kind == "module") {
      return w.Module({n32("module"), n("base"), n("begin"), n("bytes"), l.Text("path"), l.Hex("build_id")});
    }
    if (kind == "module_gone") return w.ModuleGone(n32("module"));
    if (kind == "code") {
      return w.Code({n32("code"), static_cast<uint16_t>(n("python")), n32("line"), l.Text("file"),
                     l.Text("name"), l.Hex("table"), l.Hex("loops")});
    }
    if (kind == "python_location") {
      return w.PythonLocation({n32("location"), n32("code"), n32("offset")});
    }
    if (kind == "thread_start") {
      return w.ThreadStart({n32("thread"), n32("creator"), n32("stack"), l.Text("name")});
    }
    if (kind == "thread_end") return w.ThreadEnd();
    if (kind == "map") {
      const std::string what = l.Text("kind", "anonymous");
      const MapKind map_kind = what == "file"     ? MapKind::kFile
                               : what == "shared" ? MapKind::kShared
                               : what == "arena"  ? MapKind::kArena
                                                  : MapKind::kAnonymous;
      return w.Map({n("address"), n("bytes"), n32("prot"), n32("flags"), map_kind, n32("stack")});
    }
    if (kind == "unmap") return w.Unmap({n("address"), n("bytes")});
    if (kind == "remap") return w.Remap({n("old"), n("old_bytes"), n("new"), n("new_bytes"), n32("stack")});
    if (kind == "break") return w.Break({n("new"), l.Signed("change"), n32("stack")});
    if (kind == "mark") {
      const MarkKind mark = ByName<MarkKind>(l, l.Text("kind"), MarkKindName, 16);
      const std::string from = l.Text("source", "explicit");
      const MarkSource source = from == "record_function" ? MarkSource::kRecordFunction
                                : from == "site"          ? MarkSource::kSiteCustomize
                                                          : MarkSource::kExplicit;
      return w.Mark({mark, source, n("value"), l.Text("name")});
    }
    if (kind == "ledger") {
      LedgerRecord record{};
      for (const std::string& word : l.words()) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos) continue;
        record.fields[record.count].field =
            ByName<LedgerField>(l, word.substr(0, equals), LedgerFieldName, 18);
        record.fields[record.count++].value = l.Parse(word.substr(equals + 1));
      }
      return w.Ledger(record);
    }
    if (kind == "drop") {
      return w.Drop({ByName<DropReason>(l, l.Text("reason"), DropReasonName, 8), n("events"), n("bytes")});
    }
    if (kind == "rate") {
      const std::string mode = l.Text("mode");
      return w.Rate({mode == "exact" ? Mode::kExact
                     : mode == "off" ? Mode::kOff
                                     : Mode::kDefault,
                     n("exact_from"), n("sample")});
    }
    if (kind == "device") {
      return w.Device({static_cast<uint8_t>(n("op")), static_cast<uint8_t>(n("level")),
                       static_cast<uint8_t>(n("memory")), l.Flag("graph"),
                       static_cast<int32_t>(l.Signed("device")), n("address"), n("bytes"), n("handle"),
                       n("total"), n("reserved"), n32("stack"), l.Text("api")});
    }
    if (kind == "tensor") return w.Tensor({n("address"), n("bytes")});
    if (kind == "tensor_gone") return w.TensorGone(n("address"));
    if (kind == "realloc_cancel") return w.ReallocCancel();
    if (kind == "copied_pages") return w.CopiedPages(l.Hex("runs"));
    if (kind == "residency") {
      return w.Residency({l.Text("region") == "map" ? RegionKind::kMap : RegionKind::kBlock, n("address"),
                          n("bytes"), n("resident"), n("birth")});
    }
    if (kind == "holder_walk") {
      return w.HolderWalk({n("walk"), ByName<WalkReason>(l, l.Text("reason"), WalkReasonName, 6),
                           ByName<WalkResult>(l, l.Text("result"), WalkResultName, 20), n("step"),
                           n("objects"), n("elapsed"), n("own"), n("asked"), n("found"), n("garbage"),
                           n("garbage_bytes"), l.Flag("gc_disabled"), n("frozen"), n("limit")});
    }
    if (kind == "holder") {
      const HolderPathWriter path = Path(l);
      const std::string type = l.Text("type"), what = l.Text("what");
      return w.Holder({n("walk"), n32("stack"), ByName<HolderEnd>(l, l.Text("end"), HolderEndName, 12),
                       n("found"), n("asked"), n("bytes"), n("container"), n("length"), n("bound"), n32("at"),
                       n32("native_stack"), type, what, path.bytes()});
    }
    if (kind == "attach") {
      return w.Attach({n("number"), n("age"), n("rss_anon"), n("rss_file"), n("rss_shmem"), n("own"),
                       n("arena"), n("arena_free"), n("arena_mmap"), n("words"), n("modules"), n("left_out"),
                       n("held"), l.Flag("program_imports")});
    }
    if (kind == "fork") return w.Fork(n32("child"));
    if (kind == "alloc_in") {
      return w.AllocIn({n("address"), n("bytes"), n32("stack")});
    }
    if (kind == "free_in") return w.FreeIn({n("address")});
    if (kind == "fold_totals") {
      return w.FoldTotals({n32("stack"), n("allocs_256"), n("alloc_bytes"), n("frees_256"), n("free_bytes")});
    }
    if (kind == "totals") {
      return w.TotalsSnapshot({n("allocs"), n("alloc_bytes"), n("frees"), n("freed_bytes"),
                               n("recorded_allocs"), n("recorded_frees")});
    }
    if (kind == "unknown") return w.Ext(n32("kind"), l.Text("payload"));
    l.Fail("unknown record");
  }

  FileHeader header_{};
  std::vector<Line> damage_;
  std::map<uint32_t, Stream> streams_;
  uint32_t current_ = 1;
  std::string data_;
};

}  // namespace

std::string TraceFromText(std::string_view text) {
  Builder builder;
  std::istringstream lines(ExpandLoops(text));
  std::string words;
  for (int number = 1; std::getline(lines, words); ++number) {
    Line line(words, number);
    builder.Add(line);
  }
  return builder.Finish();
}

namespace {

// Removed when the test program ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* base = getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/plateau-test-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::string WriteTemporary(std::string_view name, std::string_view bytes) {
  static const TemporaryDirectory directory;
  const std::string path = directory.path() + "/" + std::string(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace plateau::testing
