#include "preload/unwind/cfi_machine.h"

#include <cstdint>
#include <cstring>

namespace plateau::unwind {

uint64_t ReadEncoded(ByteReader* reader, uint8_t encoding, const uint8_t* data_base) {
  if (encoding == kEncodingOmit) return 0;
  const auto at = reinterpret_cast<uintptr_t>(reader->position());
  uint64_t value = 0;
  switch (encoding & kEncodingFormat) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = reader->Read<uint64_t>();
      break;
    case 0x01:
      value = reader->ReadUleb();
      break;
    case 0x02:
      value = reader->Read<uint16_t>();
      break;
    case 0x03:
      value = reader->Read<uint32_t>();
      break;
    case 0x09:
      value = static_cast<uint64_t>(reader->ReadSleb());
      break;
    case 0x0a:
      value = static_cast<uint64_t>(int64_t{reader->Read<int16_t>()});
      break;
    case 0x0b:
      value = static_cast<uint64_t>(int64_t{reader->Read<int32_t>()});
      break;
    default:
      return reader->Fail();
  }
  if (value == 0) return 0;
  switch (encoding & kEncodingBase) {
    case 0:
      break;
    case kEncodingPcRelative:
      value += at;
      break;
    case kEncodingDataRelative:
      value += reinterpret_cast<uintptr_t>(data_base);
      break;
    default:
      return reader->Fail();
  }
  return value;
}

CfiStatus CfiMachine::ExecuteExtended(uint8_t op, ByteReader* program, bool* done) {
  switch (op) {
    case 0x00:  // nop
      break;
    case 0x01:  // set_loc
      location_ = ReadEncoded(program, cie_.pointer_encoding, nullptr);
      *done = location_ > target_;
      break;
    case 0x02:  // advance_loc1, 2, 4
      *done = Advance(program->Read<uint8_t>());
      break;
    case 0x03:
      *done = Advance(program->Read<uint16_t>());
      break;
    case 0x04:
      *done = Advance(program->Read<uint32_t>());
      break;
    case 0x05: {  // offset_extended
      const uint64_t number = program->ReadUleb();
      SetRule(number, RegisterRule::kAtCfa, Factored(program->ReadUleb()));
      break;
    }
    case 0x06:  // restore_extended
      Restore(program->ReadUleb());
      break;
    case 0x07:  // undefined
      SetRule(program->ReadUleb(), RegisterRule::kUndefined);
      break;
    case 0x08:  // same_value
      SetRule(program->ReadUleb(), RegisterRule::kUnchanged);
      break;
    case 0x09: {  // register
      const uint64_t number = program->ReadUleb();
      SetRule(number, RegisterRule::kInRegister, static_cast<int64_t>(program->ReadUleb()));
      break;
    }
    case 0x0a: {  // remember_state
      if (remembered_count_ == kMaxRememberedRows) return CfiStatus::kUnsupported;
      Remembered& to = remembered_[remembered_count_++];
      to.cfa_rule = row_.cfa_rule;
      to.cfa_register = row_.cfa_register;
      to.cfa_value = row_.cfa_value;
      std::memcpy(to.rules, row_.rules, sizeof(to.rules));
      std::memcpy(to.values, row_.values, sizeof(to.values));
      break;
    }
    case 0x0b: {  // restore_state
      if (remembered_count_ == 0) return CfiStatus::kDamaged;
      const Remembered& from = remembered_[--remembered_count_];
      row_.cfa_rule = from.cfa_rule;
      row_.cfa_register = from.cfa_register;
      row_.cfa_value = from.cfa_value;
      std::memcpy(row_.rules, from.rules, sizeof(from.rules));
      std::memcpy(row_.values, from.values, sizeof(from.values));
      break;
    }
    case 0x0c: {  // def_cfa
      const uint64_t number = program->ReadUleb();
      SetCfa(number, static_cast<int64_t>(program->ReadUleb()));
      break;
    }
    case 0x0d:  // def_cfa_register
      if (row_.cfa_rule == CfaRule::kExpression) return CfiStatus::kDamaged;
      SetCfa(program->ReadUleb(), row_.cfa_value);
      break;
    case 0x0e:  // def_cfa_offset
      if (row_.cfa_rule == CfaRule::kExpression) return CfiStatus::kDamaged;
      row_.cfa_value = static_cast<int64_t>(program->ReadUleb());
      break;
    case 0x0f:  // def_cfa_expression
      row_.cfa_rule = CfaRule::kExpression;
      row_.cfa_value = TakeExpression(program);
      break;
    case 0x10:
    case 0x16: {  // expression, val_expression
      const uint64_t number = program->ReadUleb();
      SetRule(number, op == 0x10 ? RegisterRule::kAtExpression : RegisterRule::kIsExpression,
              TakeExpression(program));
      break;
    }
    case 0x11: {  // offset_extended_sf
      const uint64_t number = program->ReadUleb();
      SetRule(number, RegisterRule::kAtCfa, Factored(static_cast<uint64_t>(program->ReadSleb())));
      break;
    }
    case 0x12: {  // def_cfa_sf
      const uint64_t number = program->ReadUleb();
      SetCfa(number, Factored(static_cast<uint64_t>(program->ReadSleb())));
      break;
    }
    case 0x13:  // def_cfa_offset_sf
      if (row_.cfa_rule == CfaRule::kExpression) return CfiStatus::kDamaged;
      row_.cfa_value = Factored(static_cast<uint64_t>(program->ReadSleb()));
      break;
    case 0x14: {  // val_offset
      const uint64_t number = program->ReadUleb();
      SetRule(number, RegisterRule::kIsCfa, Factored(program->ReadUleb()));
      break;
    }
    case 0x15: {  // val_offset_sf
      const uint64_t number = program->ReadUleb();
      SetRule(number, RegisterRule::kIsCfa, Factored(static_cast<uint64_t>(program->ReadSleb())));
      break;
    }
#if defined(__aarch64__)
    case 0x2d:  // AARCH64_negate_ra_state: the bits of a signature never take part
      break;
#endif
    case 0x2e:  // GNU_args_size
      program->ReadUleb();
      break;
    default:
      return CfiStatus::kUnsupported;
  }
  return program->ok() ? CfiStatus::kFound : CfiStatus::kDamaged;
}

}  // namespace plateau::unwind
