#include "preload/python/loop_table.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "preload/trace/varint.h"

namespace plateau::python {
namespace {

// Opcodes `first` to `last` are followed by `caches` units that are no instructions.
struct Cached {
  uint8_t first, last, caches;
};
constexpr Cached kCached11[] = {
    {3, 8, 1},     {13, 14, 1},   {16, 16, 1},   {17, 25, 4},   {26, 29, 2},   {39, 43, 4},    {47, 48, 5},
    {55, 55, 5},   {56, 59, 10},  {60, 60, 1},   {62, 63, 10},  {64, 67, 1},   {72, 73, 1},    {76, 81, 1},
    {92, 92, 1},   {95, 95, 4},   {106, 106, 4}, {107, 107, 2}, {113, 113, 1}, {116, 116, 5},  {121, 122, 1},
    {127, 127, 1}, {141, 141, 1}, {143, 143, 1}, {153, 154, 4}, {158, 159, 4}, {160, 160, 10}, {166, 166, 1},
    {168, 170, 1}, {171, 171, 4}, {177, 180, 1}};
constexpr Cached kCached12[] = {
    {6, 8, 1},     {10, 10, 1},   {13, 14, 1},   {16, 16, 1},   {18, 22, 1},   {23, 24, 3},   {25, 25, 1},
    {28, 29, 3},   {34, 34, 3},   {38, 48, 3},   {56, 56, 3},   {57, 60, 1},   {62, 67, 1},   {70, 70, 9},
    {72, 73, 9},   {76, 82, 9},   {92, 93, 1},   {95, 95, 4},   {106, 106, 9}, {107, 107, 1}, {111, 113, 4},
    {116, 116, 4}, {122, 123, 1}, {141, 141, 1}, {148, 148, 4}, {153, 153, 4}, {159, 161, 1}, {166, 168, 1},
    {171, 171, 3}, {237, 237, 1}, {241, 241, 3}, {248, 248, 1}};
constexpr Cached kCached13[] = {{3, 3, 1},     {5, 5, 1},     {39, 39, 1},   {40, 40, 3},   {45, 45, 1},
                                {53, 53, 3},   {58, 59, 1},   {72, 72, 1},   {77, 77, 1},   {82, 82, 9},
                                {91, 91, 4},   {93, 93, 1},   {97, 100, 1},  {104, 104, 1}, {108, 108, 4},
                                {117, 117, 1}, {150, 161, 1}, {162, 181, 3}, {182, 190, 1}, {191, 202, 9},
                                {203, 204, 4}, {205, 206, 1}, {208, 208, 1}, {209, 211, 4}, {212, 213, 1},
                                {214, 219, 3}, {220, 222, 1}, {242, 243, 1}, {244, 244, 3}, {249, 253, 1}};

// What an opcode is, in one byte: the number of caches behind it, and
enum : uint8_t {
  kCaches = 15,
  kJump = 16,       // it may go back
  kExtended = 32,   // the upper bits of the next argument
  kPopExcept = 64,  // an exception handler is over
  kOpaque = 128,    // it hides the instruction that it stands for
};

struct Bytecode {
  uint8_t kinds[256] = {};
  uint8_t absolute_unit = 0;  // of the argument of jumps, in bytes; 0: it says how far back they go

  constexpr void Set(std::initializer_list<uint8_t> opcodes, uint8_t kind) {
    for (const uint8_t opcode : opcodes) kinds[opcode] |= kind;
  }
  template <size_t kCount>
  constexpr void SetCaches(const Cached (&cached)[kCount]) {
    for (const Cached& run : cached) {
      for (unsigned opcode = run.first; opcode <= run.last; ++opcode) kinds[opcode] |= run.caches;
    }
  }
};

constexpr Bytecode BytecodeOf(unsigned minor) {
  Bytecode code;
  if (minor <= 10) {
    code.Set({111, 112, 113, 114, 115}, kJump);
    if (minor >= 9) code.Set({121}, kJump);
    code.absolute_unit = minor == 10 ? 2 : 1;
  }
  if (minor <= 12) {
    code.Set({144}, kExtended);
    code.Set({89}, kPopExcept);
  }
  if (minor == 11) {
    code.Set({38, 140, 173, 174, 175, 176}, kJump);
    code.Set({34}, kExtended);
    code.SetCaches(kCached11);
  } else if (minor == 12) {
    code.Set({140, 246}, kJump);
    code.Set({253, 254}, kOpaque);
    code.SetCaches(kCached12);
  } else if (minor == 13) {
    code.Set({77, 249}, kJump);
    code.Set({71}, kExtended);
    code.Set({31}, kPopExcept);
    code.Set({70, 247, 254}, kOpaque);
    code.SetCaches(kCached13);
  }
  return code;
}

constexpr unsigned kFirstMinor = 8;
constexpr Bytecode kBytecodes[] = {BytecodeOf(8),  BytecodeOf(9),  BytecodeOf(10),
                                   BytecodeOf(11), BytecodeOf(12), BytecodeOf(13)};

struct Loop {
  uint32_t head;
  uint32_t tail;
  bool is_real;  // some jump to it does not come from the end of a handler
};
constexpr size_t kMostLoops = 64;

class LoopList {
 public:
  // False when there is no room.
  bool Add(uint32_t head, uint32_t tail, bool is_real) {
    for (size_t i = 0; i < count_; ++i) {
      if (loops_[i].head != head) continue;
      loops_[i].tail = std::max(loops_[i].tail, tail);
      loops_[i].is_real |= is_real;
      return true;
    }
    if (count_ == kMostLoops) return false;
    size_t i = count_++;
    for (; i > 0 && loops_[i - 1].head > head; --i) loops_[i] = loops_[i - 1];
    loops_[i] = {head, tail, is_real};
    return true;
  }

  std::string_view Write(char* buffer, size_t capacity) const {
    if (capacity < (2 * count_ + 1) * trace::kMaxVarintBytes) return {};
    auto* const begin = reinterpret_cast<uint8_t*>(buffer);
    size_t real = 0;
    for (size_t i = 0; i < count_; ++i) real += loops_[i].is_real;
    uint8_t* p = trace::PutVarint(begin, real);
    uint32_t before = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (!loops_[i].is_real) continue;
      p = trace::PutVarint(p, loops_[i].head - before);
      p = trace::PutVarint(p, loops_[i].tail - loops_[i].head);
      before = loops_[i].head;
    }
    return {buffer, static_cast<size_t>(p - begin)};
  }

 private:
  Loop loops_[kMostLoops];
  size_t count_ = 0;
};

}  // namespace

std::string_view FindLoops(unsigned minor, const uint8_t* code, size_t units, char* buffer, size_t capacity) {
  constexpr size_t kMostUnits = 1 << 20;
  constexpr unsigned kNearHandler = 4;  // `except ... as` forgets its name between POP_EXCEPT and the jump
  if (minor < kFirstMinor || minor - kFirstMinor >= std::size(kBytecodes) || units > kMostUnits) return {};
  const Bytecode& bytecode = kBytecodes[minor - kFirstMinor];
  LoopList loops;
  uint32_t extended = 0;
  unsigned since_handler = kNearHandler + 1;  // instructions
  for (size_t at = 0; at < units;) {
    const uint8_t opcode = code[2 * at];
    const uint32_t argument = extended << 8 | code[2 * at + 1];
    const uint8_t kind = bytecode.kinds[opcode];
    const size_t next = at + 1 + (kind & kCaches);
    if (kind & kExtended) {
      extended = argument;
      ++at;
      continue;
    }
    extended = 0;
    ++since_handler;
    if (kind & (kJump | kPopExcept | kOpaque)) [[unlikely]] {
      if (kind & kOpaque) return {};
      if (kind & kPopExcept) since_handler = 0;
      const uint64_t head = bytecode.absolute_unit != 0
                                ? uint64_t{argument} * bytecode.absolute_unit / 2
                                : next - argument;  // a huge number when before the code
      const bool goes_back = (kind & kJump) != 0 && head <= at;
      if ((kind & kJump) != 0 && !goes_back && bytecode.absolute_unit == 0) return {};
      const bool is_real = since_handler > kNearHandler;
      if (goes_back && !loops.Add(static_cast<uint32_t>(head), static_cast<uint32_t>(at), is_real)) return {};
    }
    at = next;
  }
  return loops.Write(buffer, capacity);
}

std::string_view LoopsOf(const Layout& layout, const void* code, char* buffer, size_t capacity) {
  if (layout.code_bytecode != kNoField) {
    return FindLoops(layout.minor, static_cast<const uint8_t*>(code) + layout.code_bytecode,
                     ReadAt<uint64_t>(code, kObjectSize), buffer, capacity);
  }
  const void* bytes = ReadPointer(code, kCodeBytes);
  if (bytes == nullptr) return {};
  return FindLoops(layout.minor, static_cast<const uint8_t*>(bytes) + kBytesData,
                   ReadAt<uint64_t>(bytes, kObjectSize) / 2, buffer, capacity);
}

}  // namespace plateau::python
