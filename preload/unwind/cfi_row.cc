#include "preload/unwind/cfi_row.h"

#include <cstdint>
#include <limits>

namespace plateau::unwind {
namespace {

// Pointer encodings of .eh_frame (DW_EH_PE_*).
constexpr uint8_t kEncodingOmit = 0xff;
constexpr uint8_t kEncodingFormat = 0x0f;
constexpr uint8_t kEncodingBase = 0x70;
constexpr uint8_t kEncodingPcRelative = 0x10;
constexpr uint8_t kEncodingDataRelative = 0x30;
constexpr uint8_t kEncodingIndirect = 0x80;
constexpr uint8_t kEncodingTable = kEncodingDataRelative | 0x0b;  // signed 4 bytes from the header's start

constexpr unsigned kMaxRememberedRows = 4;
// More entries than any real object has; ends the scan of a table that loops or was never finished.
constexpr unsigned kMaxScannedEntries = 1u << 20;

struct Cie {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  ByteReader program;
};

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

CfiStatus ParseCie(ByteSpan readable, const uint8_t* at, Cie* cie) {
  if (!readable.Contains(at)) return CfiStatus::kDamaged;
  ByteReader reader(at, readable.end);
  const uint32_t length = reader.Read<uint32_t>();
  if (length == 0xffffffff) return CfiStatus::kUnsupported;
  ByteReader body = reader.Take(length);
  if (body.Read<uint32_t>() != 0 || !body.ok()) return CfiStatus::kDamaged;  // an FDE where a CIE should be
  const uint8_t version = body.Read<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return CfiStatus::kUnsupported;
  const auto* augmentation = body.position();
  while (body.Read<uint8_t>() != 0) {
  }
  if (!body.ok()) return CfiStatus::kDamaged;
  if (version == 4 && (body.Read<uint8_t>() != 8 || body.Read<uint8_t>() != 0))
    return CfiStatus::kUnsupported;
  cie->code_align = body.ReadUleb();
  cie->data_align = body.ReadSleb();
  const uint64_t return_register = version == 1 ? body.Read<uint8_t>() : body.ReadUleb();
  if (!body.ok()) return CfiStatus::kDamaged;
  if (return_register != kRegisterReturn) return CfiStatus::kUnsupported;
  if (*augmentation == 'z') {
    cie->has_augmentation_data = true;
    ByteReader data = body.Take(body.ReadUleb());
    for (const uint8_t* letter = augmentation + 1; *letter != 0; ++letter) {
      if (*letter == 'R') {
        cie->pointer_encoding = data.Read<uint8_t>();
      } else if (*letter == 'P') {
        ReadEncoded(&data, data.Read<uint8_t>() & kEncodingFormat, nullptr);
      } else if (*letter == 'L') {
        data.Read<uint8_t>();
      } else if (*letter == 'S') {
        cie->is_signal_frame = true;
      } else if (*letter != 'B') {
        return CfiStatus::kUnsupported;
      }
    }
    if (!data.ok() || !body.ok()) return CfiStatus::kDamaged;
  } else if (*augmentation != 0) {
    return CfiStatus::kUnsupported;
  }
  cie->program = body;
  return CfiStatus::kFound;
}

// The call-frame machine. Runs the CIE's program, remembers the row, then the FDE's up to the wanted address.
class CfiMachine {
 public:
  CfiMachine(const Cie& cie, uintptr_t begin, uintptr_t target, CfiRow* row)
      : cie_(cie), row_(*row), location_(begin), target_(target) {}

  CfiStatus Run(ByteReader fde_program) {
    initial_ = row_;
    CfiStatus status = Execute(cie_.program);
    if (status != CfiStatus::kFound) return status;
    initial_ = row_;
    return Execute(fde_program);
  }

 private:
  // A remembered row without what never changes.
  struct Remembered {
    CfaRule cfa_rule;
    uint8_t cfa_register;
    int64_t cfa_value;
    RegisterRule rules[kRegisterCount];
    int32_t values[kRegisterCount];
  };

  void SetRule(uint64_t number, RegisterRule rule, int64_t value = 0) {
    if (number >= kRegisterCount) return;  // vector and segment registers: nothing is unwound by them
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
      rule = RegisterRule::kOutsideSubset;
      value = 0;
    }
    row_.rules[number] = rule;
    row_.values[number] = static_cast<int32_t>(value);
  }

  void Restore(uint64_t number) {
    if (number >= kRegisterCount) return;
    row_.rules[number] = initial_.rules[number];
    row_.values[number] = initial_.values[number];
  }

  int64_t Factored(uint64_t value) const {
    return static_cast<int64_t>(value * static_cast<uint64_t>(cie_.data_align));
  }

  void SetCfa(uint64_t number, int64_t value) {
    row_.cfa_rule = number < kRegisterReturn ? CfaRule::kRegister : CfaRule::kNone;
    row_.cfa_register = static_cast<uint8_t>(number);
    row_.cfa_value = value;
  }

  int64_t TakeExpression(ByteReader* program) {
    const int64_t position = program->position() - row_.expressions;
    program->Skip(program->ReadUleb());
    return position;
  }

  // True when the row of the target is complete.
  bool Advance(uint64_t delta) {
    location_ += delta * cie_.code_align;
    return location_ > target_;
  }

  CfiStatus Execute(ByteReader program) {
    while (!program.AtEnd()) {
      const uint8_t op = program.Read<uint8_t>();
      const uint8_t low = op & 0x3f;
      switch (op & 0xc0) {
        case 0x40:
          if (Advance(low)) return CfiStatus::kFound;
          continue;
        case 0x80:
          SetRule(low, RegisterRule::kAtCfa, Factored(program.ReadUleb()));
          continue;
        case 0xc0:
          Restore(low);
          continue;
        default:
          break;
      }
      bool done = false;
      const CfiStatus status = ExecuteExtended(op, &program, &done);
      if (status != CfiStatus::kFound) return status;
      if (done) return CfiStatus::kFound;
    }
    return program.ok() ? CfiStatus::kFound : CfiStatus::kDamaged;
  }

  CfiStatus ExecuteExtended(uint8_t op, ByteReader* program, bool* done);

  const Cie& cie_;
  CfiRow& row_;
  CfiRow initial_;
  Remembered remembered_[kMaxRememberedRows];
  unsigned remembered_count_ = 0;
  uint64_t location_;
  const uint64_t target_;
};

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
    case 0x2e:  // GNU_args_size
      program->ReadUleb();
      break;
    default:
      return CfiStatus::kUnsupported;
  }
  return program->ok() ? CfiStatus::kFound : CfiStatus::kDamaged;
}

// Runs the FDE at `at` when it covers `address`; kNoEntry when it does not.
CfiStatus RunFde(ByteSpan readable, const uint8_t* at, uintptr_t address, CfiRow* row) {
  if (!readable.Contains(at)) return CfiStatus::kDamaged;
  ByteReader reader(at, readable.end);
  const uint32_t length = reader.Read<uint32_t>();
  if (length == 0xffffffff) return CfiStatus::kUnsupported;
  ByteReader body = reader.Take(length);
  const uint8_t* cie_base = body.position();
  const uint32_t cie_distance = body.Read<uint32_t>();
  if (!body.ok()) return CfiStatus::kDamaged;
  if (cie_distance == 0) return CfiStatus::kNoEntry;  // a CIE
  if (cie_distance > static_cast<size_t>(cie_base - readable.begin)) return CfiStatus::kDamaged;
  Cie cie;
  const CfiStatus status = ParseCie(readable, cie_base - cie_distance, &cie);
  if (status != CfiStatus::kFound) return status;
  if ((cie.pointer_encoding & kEncodingIndirect) != 0) return CfiStatus::kUnsupported;
  const uint64_t begin = ReadEncoded(&body, cie.pointer_encoding, nullptr);
  const uint64_t bytes = ReadEncoded(&body, cie.pointer_encoding & kEncodingFormat, nullptr);
  if (!body.ok()) return CfiStatus::kDamaged;
  if (address < begin || address - begin >= bytes) return CfiStatus::kNoEntry;
  if (cie.has_augmentation_data) body.Skip(body.ReadUleb());
  if (!body.ok()) return CfiStatus::kDamaged;
  row->is_signal_frame = cie.is_signal_frame;
  row->expressions = at;
  row->readable = readable;
  return CfiMachine(cie, begin, address, row).Run(body);
}

CfiStatus ScanFdes(ByteSpan readable, const uint8_t* eh_frame, uintptr_t address, CfiRow* row) {
  const uint8_t* at = eh_frame;
  for (unsigned i = 0; i < kMaxScannedEntries; ++i) {
    if (!readable.Contains(at)) return CfiStatus::kDamaged;
    ByteReader reader(at, readable.end);
    const uint32_t length = reader.Read<uint32_t>();
    if (!reader.ok() || length > reader.remaining()) return CfiStatus::kDamaged;
    if (length == 0) return CfiStatus::kNoEntry;  // terminator
    const CfiStatus status = RunFde(readable, at, address, row);
    if (status != CfiStatus::kNoEntry) return status;
    at = reader.position() + length;
  }
  return CfiStatus::kDamaged;
}

}  // namespace

CfiStatus FindCfiRow(ByteSpan readable, const uint8_t* eh_frame_hdr, uintptr_t address, CfiRow* row) {
  *row = CfiRow{};
  if (!readable.Contains(eh_frame_hdr)) return CfiStatus::kDamaged;
  ByteReader header(eh_frame_hdr, readable.end);
  const uint8_t version = header.Read<uint8_t>();
  const uint8_t frame_encoding = header.Read<uint8_t>();
  const uint8_t count_encoding = header.Read<uint8_t>();
  const uint8_t table_encoding = header.Read<uint8_t>();
  if (!header.ok()) return CfiStatus::kDamaged;
  if (version != 1) return CfiStatus::kUnsupported;
  if (((frame_encoding | count_encoding) & kEncodingIndirect) != 0 && count_encoding != kEncodingOmit) {
    return CfiStatus::kUnsupported;
  }
  const uint64_t eh_frame = ReadEncoded(&header, frame_encoding, eh_frame_hdr);
  const uint64_t count = ReadEncoded(&header, count_encoding, eh_frame_hdr);
  if (!header.ok()) return CfiStatus::kDamaged;
  if (count_encoding == kEncodingOmit || table_encoding != kEncodingTable || count == 0) {
    return ScanFdes(readable, reinterpret_cast<const uint8_t*>(eh_frame), address, row);
  }
  constexpr size_t kEntryBytes = 8;  // signed 4-byte offsets of the code and of its FDE
  if (count > header.remaining() / kEntryBytes) return CfiStatus::kDamaged;
  const uint8_t* table = header.position();
  const auto wanted = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(eh_frame_hdr));
  uint64_t low = 0;
  uint64_t high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    int32_t begin;
    std::memcpy(&begin, table + middle * kEntryBytes, sizeof(begin));
    if (begin <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return CfiStatus::kNoEntry;
  int32_t fde;
  std::memcpy(&fde, table + (low - 1) * kEntryBytes + sizeof(int32_t), sizeof(fde));
  const auto at = static_cast<int64_t>(eh_frame_hdr - readable.begin) + fde;
  if (at < 0 || at >= static_cast<int64_t>(readable.size())) return CfiStatus::kDamaged;
  return RunFde(readable, readable.begin + at, address, row);
}

ByteReader ExpressionAt(const CfiRow& row, int64_t position) {
  const int64_t at = (row.expressions - row.readable.begin) + position;
  if (at < 0 || at >= static_cast<int64_t>(row.readable.size())) return {};
  ByteReader reader(row.readable.begin + at, row.readable.end);
  const uint64_t length = reader.ReadUleb();
  ByteReader expression = reader.Take(length);
  return expression.ok() ? expression : ByteReader{};
}

}  // namespace plateau::unwind
