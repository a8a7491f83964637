// What the launcher must know of a program before it preloads the shim into it.
//
// A shim that the program's own loader cannot load would end the program, so the loader is asked first: it lists what
// it would load for the shim, and says what is missing. Nothing of the program runs.
#ifndef PLATEAU_ANALYZER_CLI_LAUNCH_TARGET_H_
#define PLATEAU_ANALYZER_CLI_LAUNCH_TARGET_H_

#include <string>
#include <vector>

namespace plateau::cli {

struct Target {
  std::string path;    // the file that execvp would run; empty: there is none
  std::string loader;  // the dynamic loader of its ELF file, or of the interpreter that its first line names
  std::string glibc;   // "2.36", as the loader's C library says; empty: not known
  // Why the program cannot be recorded, in one sentence; empty when nothing speaks against it.
  std::string why_not;
  // False: the shim must not even be in the environment, because the program's loader would fail on it. A static
  // program ignores it, and its children may still be recorded.
  bool may_preload = true;
};

// `shim` is the library that would be preloaded; empty: the loader is not asked.
Target LookAtTarget(const std::string& program, const std::string& shim);

// The file that execvp would run, or "".
std::string FindProgram(const std::string& program);

// What to write instead, for a program that could not be started: "; a Python script is run by `plateau run --
// python3 train.py`". Empty when nothing better is known.
std::string HowToStart(const std::string& program);

// The script that an interpreter on this command line was asked to run, if there is no such file; else "".
std::string MissingScript(const std::vector<std::string>& command);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_LAUNCH_TARGET_H_
