// What is known of memory that no call site holds: allocators that libraries brought along, and the survivors that
// hold the holes of the heap.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_MEMORY_FACTS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_MEMORY_FACTS_H_

#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

std::vector<LibraryAllocator> AllocatorsOf(const process::ProcessAnalysis& process);

// Empty when the heap has no holes worth a line.
HeapHoles HolesOf(const process::ProcessAnalysis& process);

// Adds to the words of the headline what these explain of it.
void ExplainByMemory(const process::ProcessAnalysis& process, const std::vector<LibraryAllocator>& allocators,
                     const HeapHoles& holes, Verdict* words);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_MEMORY_FACTS_H_
