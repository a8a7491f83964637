// C++ names as people write them.
#ifndef PLATEAU_ANALYZER_SYMBOLS_DEMANGLE_H_
#define PLATEAU_ANALYZER_SYMBOLS_DEMANGLE_H_

#include <string>

namespace plateau::symbols {

// The demangled form of a C++ (or older Rust) symbol; anything else is given back unchanged, and so are names
// that are so long that demangling them would take forever.
std::string Demangle(const std::string& name);

// True for the mangled names of the standard library and of operator new: code that allocates on behalf of
// its caller.
bool IsLibraryPlumbing(const std::string& mangled);

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_DEMANGLE_H_
