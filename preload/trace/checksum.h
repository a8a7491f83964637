// CRC-32C (Castagnoli) over block headers and payloads.
//
// Uses the SSE4.2 instruction when the processor has it, a table otherwise; both give the same value.
// Allocates: never. Locks: never. Safe in signal handlers and before constructors have run.
#ifndef PLATEAU_PRELOAD_TRACE_CHECKSUM_H_
#define PLATEAU_PRELOAD_TRACE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

namespace plateau::trace {

// Extends `crc` (0 for the first piece) by `size` bytes.
uint32_t Crc32c(uint32_t crc, const void* data, size_t size);

// The portable form, exposed so that a test can compare the two.
uint32_t Crc32cPortable(uint32_t crc, const void* data, size_t size);

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_CHECKSUM_H_
