// Which CPython a program is, as the name of its file says: "python3.11" behind all links.
//
// The shim asks the interpreter itself; this is for what is said before it runs.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_PYTHON_VERSION_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_PYTHON_VERSION_H_

#include <string>

namespace plateau::cli {

struct PythonVersion {
  bool is_python = false;      // the name begins with "python3."
  bool has_frames = false;     // the shim knows the layout of its frames
  bool free_threaded = false;  // "python3.14t"
  std::string name;            // "python3.11"
};

PythonVersion VersionOfPython(const std::string& path);

// "3.8 to 3.15", the versions whose frames are recorded.
std::string PythonsWithFrames();

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_PYTHON_VERSION_H_
