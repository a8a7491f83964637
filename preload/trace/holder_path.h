// The path from a root to what a reference keeps alive, as HOLDER records carry it: a list of segments.
//
//   trainer.meter.history[*]['loss'], root first:
//     {kModule, 0, "__main__"} {kGlobal, 0, "trainer"} {kAttribute, 0, "meter"} {kAttribute, 0, "history"}
//     {kIndex, 0, ""} {kKey, 1, "loss"}
//
// In the record a segment is three fields: kind, number, text. A reader skips a segment whose kind it does not
// know and shows its text. Freestanding. Allocates: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TRACE_HOLDER_PATH_H_
#define PLATEAU_PRELOAD_TRACE_HOLDER_PATH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "preload/trace/varint.h"

namespace plateau::trace {

// How one thing holds the next. Texts are user data: cut at kMaxSegmentTextBytes.
enum class SegmentKind : uint8_t {
  kModule = 1,       // root. Text: the module
  kFrame = 2,        // root. Text: function; number: the line that runs there. kFile follows
  kFile = 3,         // of the kFrame or kGenerator before it. Text: the last part of the file's name
  kInterpreter = 4,  // root. Text: which part of the interpreter ("builtins", "thread state", ...)
  kNative = 5,       // root. An object that C or C++ holds, no object of Python. Text: the object's type
  kGlobal = 6,       // of a module. Text: the name
  kAttribute = 7,    // in the dict or the values of an instance. Text: the name; number 1, no text: any
  kSlot = 8,         // of a class with __slots__, or a member of a C type. Text: the name
  kTypeDict = 9,     // attribute of a class. Text: the name
  kKey = 10,         // value of a dict. Text: the key; number 1: a str, 2: bytes, 3: another constant, 0: any
  kKeyItself = 11,   // the object is a key of the dict
  kIndex = 12,       // of a list, tuple, deque. Number: the index plus 1; 0: any
  kMember = 13,      // of a set
  kLocal = 14,       // of a kFrame or kGenerator. Text: the name
  kCell = 15,        // closure. Text: the free variable
  kDefault = 16,     // default value of a parameter. Text: its name, or empty
  kGenerator = 17,   // generator, coroutine: what stands still in it. Text: function; number: line
  kTraceback = 18,   // frame of a stored exception's traceback. kFrame follows
  kContext = 19,     // exception: __context__ or __cause__. Text: which
  kSelf = 20,        // object of a bound method
  kFunction = 21,    // function of a bound method, of a wrapper. Text: the name
  kBuffer = 22,      // whose memory this object shows (numpy's base, a memoryview's object)
  kInside = 23,      // a reference inside an object that does not name it. Text: the object's type
  kGraph = 24,       // node of an autograd graph, without Python's help. Text: its class
  kNativeClass = 25,  // C++ object. Text: its class
  kRepeat = 26,       // the segment before it comes again. Number: how many times; 0: not counted
  kThreadLocal = 27,  // root. Text: "threading.local"
  kContextVar = 28,   // root. Text: the variable
  kWeakCallback = 29  // callback of a weak reference
};

struct HolderSegment {
  SegmentKind kind;
  uint64_t number;
  std::string_view text;
};

inline constexpr size_t kMaxSegmentTextBytes = 40;
inline constexpr size_t kMaxSegments = 48;

// Encodes segments. One that has no room is left out and full() turns true.
class HolderPathWriter {
 public:
  void Add(const HolderSegment& segment) {
    std::string_view text = segment.text;
    if (text.size() > kMaxSegmentTextBytes) {
      size_t cut = kMaxSegmentTextBytes;
      while (cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xc0) == 0x80) --cut;  // not within a character
      text = text.substr(0, cut);
    }
    if (count_ >= kMaxSegments || sizeof(bytes_) - size_ < 3 * kMaxVarintBytes + text.size()) {
      full_ = true;
      return;
    }
    uint8_t* p = PutVarint(bytes_ + size_, static_cast<uint64_t>(segment.kind));
    p = PutVarint(p, segment.number);
    p = PutVarint(p, text.size());
    std::memcpy(p, text.data(), text.size());
    size_ = static_cast<size_t>(p - bytes_) + text.size();
    ++count_;
  }
  void Clear() {
    size_ = count_ = 0;
    full_ = false;
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_), size_}; }
  size_t count() const { return count_; }
  bool full() const { return full_; }

 private:
  size_t size_ = 0;
  size_t count_ = 0;
  bool full_ = false;
  uint8_t bytes_[kMaxSegments * (kMaxSegmentTextBytes + 8)];
};

// Decodes them again. Ends early at bytes that are no segment.
class HolderPathReader {
 public:
  explicit HolderPathReader(std::string_view bytes)
      : p_(reinterpret_cast<const uint8_t*>(bytes.data())), end_(p_ + bytes.size()) {}

  bool Next(HolderSegment* segment) {
    uint64_t kind = 0, size = 0;
    if (p_ == end_) return false;
    const uint8_t* p = GetVarint(p_, end_, &kind);
    if (p != nullptr) p = GetVarint(p, end_, &segment->number);
    if (p != nullptr) p = GetVarint(p, end_, &size);
    if (p == nullptr || size > static_cast<uint64_t>(end_ - p) || kind > UINT8_MAX) {
      p_ = end_;
      return false;
    }
    segment->kind = static_cast<SegmentKind>(kind);
    segment->text = {reinterpret_cast<const char*>(p), size};
    p_ = p + size;
    return true;
  }

 private:
  const uint8_t* p_;
  const uint8_t* end_;
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_HOLDER_PATH_H_
