// Code that no person wrote: made at run time for the line that called it, so that line is to blame.
//
//   /tmp/torchinductor_me/ab/cabf...52 letters.py      what a compiler of graphs keeps on disk
//   <eval_with_key>.3, <__array_function__ internals>  what has no file at all
//   <string>                                            a dataclass's __init__, unless the program is one: -c
//
// Cells of a notebook have no file either, but a person wrote them.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_GENERATED_CODE_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_GENERATED_CODE_H_

#include <string>

namespace plateau::replay {

// A file in the cache of a compiler: torch's inductor (source, shared object and kernels) or Triton.
bool IsInCompilerCache(const std::string& path);

// A cell of a notebook or of IPython.
bool IsNotebookCell(const std::string& file);

// `is_program_in_command`: the program is given in the command line (python -c).
bool IsGeneratedPython(const std::string& file, const std::string& function, bool is_program_in_command);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_GENERATED_CODE_H_
