#include "preload/unwind/cfi_row.h"

#include <cstdint>
#include <cstring>

#include "preload/unwind/cfi_machine.h"

namespace plateau::unwind {
namespace {

// More entries than any real object has; ends the scan of a table that loops or was never finished.
constexpr unsigned kMaxScannedEntries = 1u << 20;

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
  if (return_register != kReturnColumn) return CfiStatus::kUnsupported;
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
      } else if (*letter != 'B' && *letter != 'G') {  // the key of signed addresses; tagged stacks
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
