// A Python str as UTF-8, by plain reads; PyUnicode_AsUTF8() would allocate and cache the result.
//
// Lone surrogates (file names that are not UTF-8) are passed on as three bytes each, so that nothing is lost.
// Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_TEXT_H_
#define PLATEAU_PRELOAD_PYTHON_TEXT_H_

#include <cstddef>
#include <string_view>

#include "preload/python/layout.h"

namespace plateau::python {

// The text of `str`, cut at `capacity` bytes between characters. ASCII strings are not copied: the result
// then points into the object. An object that is null or has no characters gives an empty view.
std::string_view TextOf(const Layout& layout, const void* str, char* buffer, size_t capacity);

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_TEXT_H_
