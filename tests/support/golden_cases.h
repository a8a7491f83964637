// The cases of tests/golden: NAME.trace.txt, and NAME.OTHER.trace.txt for further processes of the same recording.
#ifndef PLATEAU_TESTS_SUPPORT_GOLDEN_CASES_H_
#define PLATEAU_TESTS_SUPPORT_GOLDEN_CASES_H_

#include <string>
#include <string_view>
#include <vector>

namespace plateau::testing {

// The names of all cases in the folder, sorted.
std::vector<std::string> GoldenCases(std::string_view folder);

// Writes the traces of a case into the temporary directory and gives back their paths, the main process first.
std::vector<std::string> WriteGoldenTraces(std::string_view folder, std::string_view name);

}  // namespace plateau::testing

#endif  // PLATEAU_TESTS_SUPPORT_GOLDEN_CASES_H_
