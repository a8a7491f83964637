// Runs the cases of files and directories and prints the score; what `plateau verdict --summary` does,
// without the command line.
#include <cstdio>

#include "analyzer/verdict/cases/case_file.h"
#include "analyzer/verdict/cases/case_json.h"

int main(int argc, char** argv) {
  plateau::verdict::Score score;
  for (int i = 1; i < argc; ++i) {
    auto files = plateau::verdict::FindCaseFiles(argv[i]);
    if (!files.ok()) return std::fprintf(stderr, "%s\n", files.status().ToString().c_str()), 3;
    for (const std::string& file : *files) {
      auto cases = plateau::verdict::ReadCaseFile(file, {});
      if (!cases.ok()) {
        std::fprintf(stderr, "%s\n", cases.status().ToString().c_str());
        continue;
      }
      for (const auto& one : *cases) {
        const auto result = plateau::verdict::RunCase(one);
        std::puts(plateau::verdict::ResultLine(one, result).c_str());
        score.Add(one, result);
      }
    }
  }
  for (const std::string& complaint : score.complaints) std::fprintf(stderr, "%s\n", complaint.c_str());
  std::fprintf(stderr, "%d cases, %d right of %d, %d false leaks, %d of %d numbers off\n", score.cases,
               score.right, score.with_expectation, score.false_leaks, score.numbers_off,
               score.numbers_checked);
  return score.ok() ? 0 : 1;
}
