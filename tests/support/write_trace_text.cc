// Writes a trace that is described in text (trace_text.h): write_trace_text < TEXT > TRACE.plt
#include <exception>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/support/trace_text.h"

int main() {
  try {
    const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
    std::cout << plateau::testing::TraceFromText(text);
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
