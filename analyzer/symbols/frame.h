// A frame of a call stack as people read it.
#ifndef PLATEAU_ANALYZER_SYMBOLS_FRAME_H_
#define PLATEAU_ANALYZER_SYMBOLS_FRAME_H_

#include <string>

namespace plateau::symbols {

struct Frame {
  std::string function;
  std::string file;
  int line = 0;
  std::string module;
  std::string kind = "native";  // "native", "python", "op", "kernel"
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_FRAME_H_
