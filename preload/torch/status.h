// Whether this part records, and the line that says what it could reach.
//
// The line goes into the trace as RecordInfo("torch", ...), again whenever it changes; the last one counts:
//   ranges armed (RecordFunction); tensors armed; C++ methods 10 of 13; end of pass from Python
//   ranges not armed: libtorch_cpu has an older RecordFunction layout; ...
//
// Allocates: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TORCH_STATUS_H_
#define PLATEAU_PRELOAD_TORCH_STATUS_H_

#include <atomic>
#include <cstddef>

namespace plateau {

// True after StartTorch(): the hooks record.
bool TorchIsOn();

// Arms what is not armed yet and was not refused; called by every hook that torch reaches, cheap when all is
// decided.
void NoticeTorch();

void RecordTorchStatus();

// The text of the line, cut to `capacity` with its NUL; returns its length. For tests.
size_t FormatTorchStatus(char* text, size_t capacity);

// True if an object whose file name starts with `base_name_prefix` is loaded.
bool IsLibraryLoaded(const char* base_name_prefix);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_STATUS_H_
