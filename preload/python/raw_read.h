// Plain reads at a byte offset inside an object of the interpreter.
#ifndef PLATEAU_PRELOAD_PYTHON_RAW_READ_H_
#define PLATEAU_PRELOAD_PYTHON_RAW_READ_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plateau::python {

template <typename T>
inline T ReadAt(const void* object, size_t offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
  return value;
}

inline const void* ReadPointer(const void* object, size_t offset) {
  return ReadAt<const void*>(object, offset);
}

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_RAW_READ_H_
