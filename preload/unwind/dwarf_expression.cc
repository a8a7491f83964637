#include "preload/unwind/dwarf_expression.h"

#include <cstdint>

#include "preload/base/raw_memory.h"

namespace plateau::unwind {
namespace {

class Machine {
 public:
  Machine(ByteReader expression, const RegisterFile& registers, WordReader* memory)
      : begin_(expression.position()),
        end_(expression.end()),
        reader_(expression),
        registers_(registers),
        memory_(memory) {}

  void Push(uint64_t value) {
    if (depth_ == kMaxOperands) {
      ok_ = false;
    } else {
      stack_[depth_++] = value;
    }
  }

  bool Run(uint64_t* result) {
    for (unsigned i = 0; !reader_.AtEnd(); ++i) {
      if (i == kMaxOperations) return false;
      Execute(reader_.Read<uint8_t>());
      if (!ok_ || !reader_.ok()) return false;
    }
    if (depth_ == 0 || !reader_.ok()) return false;
    *result = stack_[depth_ - 1];
    return true;
  }

 private:
  uint64_t Pop() {
    if (depth_ == 0) {
      ok_ = false;
      return 0;
    }
    return stack_[--depth_];
  }

  uint64_t Peek(unsigned from_top) {
    if (from_top >= depth_) {
      ok_ = false;
      return 0;
    }
    return stack_[depth_ - 1 - from_top];
  }

  void PushRegister(uint64_t number, int64_t offset) {
    if (!registers_.Knows(number)) {
      ok_ = false;
      return;
    }
    Push(registers_.values[number] + static_cast<uint64_t>(offset));
  }

  void Jump(int16_t distance) {
    const int64_t target = (reader_.position() - begin_) + distance;
    if (target < 0 || target > end_ - begin_) {
      ok_ = false;
    } else {
      reader_ = ByteReader(begin_ + target, end_);
    }
  }

  void Dereference(unsigned bytes) {
    const uint64_t address = Pop();
    uint64_t value = 0;
    if (!ok_ || bytes == 0 || bytes > 8 || !memory_->Read(address, &value)) {
      ok_ = false;
      return;
    }
    Push(bytes == 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1));
  }

  void Binary(uint8_t op);
  void Execute(uint8_t op);

  const uint8_t* begin_;
  const uint8_t* end_;
  ByteReader reader_;
  const RegisterFile& registers_;
  WordReader* memory_;
  uint64_t stack_[kMaxOperands];
  unsigned depth_ = 0;
  bool ok_ = true;
};

void Machine::Binary(uint8_t op) {
  const uint64_t right = Pop();
  const uint64_t left = Pop();
  const auto signed_left = static_cast<int64_t>(left);
  const auto signed_right = static_cast<int64_t>(right);
  const unsigned shift = right > 63 ? 63 : static_cast<unsigned>(right);
  switch (op) {
    case 0x1a:
      return Push(left & right);
    case 0x1c:
      return Push(left - right);
    case 0x1e:
      return Push(left * right);
    case 0x21:
      return Push(left | right);
    case 0x22:
      return Push(left + right);
    case 0x24:
      return Push(right > 63 ? 0 : left << shift);
    case 0x25:
      return Push(right > 63 ? 0 : left >> shift);
    case 0x26:
      return Push(static_cast<uint64_t>(signed_left >> shift));
    case 0x27:
      return Push(left ^ right);
    case 0x29:
      return Push(left == right ? 1 : 0);
    case 0x2a:
      return Push(signed_left >= signed_right ? 1 : 0);
    case 0x2b:
      return Push(signed_left > signed_right ? 1 : 0);
    case 0x2c:
      return Push(signed_left <= signed_right ? 1 : 0);
    case 0x2d:
      return Push(signed_left < signed_right ? 1 : 0);
    case 0x2e:
      return Push(left != right ? 1 : 0);
    default:
      ok_ = false;
  }
}

void Machine::Execute(uint8_t op) {
  if (op >= 0x30 && op <= 0x4f) return Push(op - 0x30);                              // lit0..lit31
  if (op >= 0x70 && op <= 0x8f) return PushRegister(op - 0x70, reader_.ReadSleb());  // breg0..breg31
  switch (op) {
    case 0x03:  // addr
    case 0x0e:  // const8u
    case 0x0f:  // const8s
      return Push(reader_.Read<uint64_t>());
    case 0x06:  // deref
      return Dereference(8);
    case 0x08:  // const1u, 1s, 2u, 2s, 4u, 4s
      return Push(reader_.Read<uint8_t>());
    case 0x09:
      return Push(static_cast<uint64_t>(int64_t{reader_.Read<int8_t>()}));
    case 0x0a:
      return Push(reader_.Read<uint16_t>());
    case 0x0b:
      return Push(static_cast<uint64_t>(int64_t{reader_.Read<int16_t>()}));
    case 0x0c:
      return Push(reader_.Read<uint32_t>());
    case 0x0d:
      return Push(static_cast<uint64_t>(int64_t{reader_.Read<int32_t>()}));
    case 0x10:  // constu
      return Push(reader_.ReadUleb());
    case 0x11:  // consts
      return Push(static_cast<uint64_t>(reader_.ReadSleb()));
    case 0x12:  // dup
      return Push(Peek(0));
    case 0x13:  // drop
      Pop();
      return;
    case 0x14:  // over
      return Push(Peek(1));
    case 0x15:  // pick
      return Push(Peek(reader_.Read<uint8_t>()));
    case 0x16: {  // swap
      const uint64_t top = Pop();
      const uint64_t next = Pop();
      Push(top);
      return Push(next);
    }
    case 0x17: {  // rot
      const uint64_t first = Pop();
      const uint64_t second = Pop();
      const uint64_t third = Pop();
      Push(first);
      Push(third);
      return Push(second);
    }
    case 0x1f:  // neg
      return Push(0 - Pop());
    case 0x20:  // not
      return Push(~Pop());
    case 0x23: {  // plus_uconst
      const uint64_t addend = reader_.ReadUleb();
      return Push(Pop() + addend);
    }
    case 0x28: {  // bra
      const int16_t distance = reader_.Read<int16_t>();
      if (Pop() != 0) Jump(distance);
      return;
    }
    case 0x2f:  // skip
      return Jump(reader_.Read<int16_t>());
    case 0x92: {  // bregx
      const uint64_t number = reader_.ReadUleb();
      return PushRegister(number, reader_.ReadSleb());
    }
    case 0x94:  // deref_size
      return Dereference(reader_.Read<uint8_t>());
    case 0x96:  // nop
      return;
    default:
      return Binary(op);
  }
}

}  // namespace

[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] bool WordReader::Read(uint64_t address,
                                                                            uint64_t* value) {
  if (address % sizeof(uint64_t) != 0) return false;
  const uint64_t page = address & ~(kPageBytes - 1);
  if (page != readable_page_) {
    if (!IsReadable(address)) return false;
    readable_page_ = page;
  }
  *value = *reinterpret_cast<const volatile uint64_t*>(address);
  return true;
}

bool EvaluateExpression(ByteReader expression, const RegisterFile& registers, bool has_initial,
                        uint64_t initial, WordReader* memory, uint64_t* result) {
  Machine machine(expression, registers, memory);
  if (has_initial) machine.Push(initial);
  return machine.Run(result);
}

}  // namespace plateau::unwind
