// Which inherited pages a forked child no longer shares with its parent, for the report to say whose they
// were.
//
// A child that only reads a Python list still writes reference counts, and the kernel copies page after page.
// /proc/self/pagemap tells for each page whether another process maps it too. The pages are written as
// records of runs, when the child's private memory has grown by an eighth since the last time, and at most a
// hundredth of the thread's time is spent on it; a child that ends is looked at once more, because one that lives
// for a moment only would else be seen as it was when it began. Costs about 50 ns a page that is present. Where the
// kernel keeps pagemap closed, nothing is recorded, and the copies are known by their bytes alone.
//
// Allocates: never. Locks: never. One thread at a time, as the ledger's samples.
#ifndef PLATEAU_PRELOAD_LEDGER_COPIED_PAGES_H_
#define PLATEAU_PRELOAD_LEDGER_COPIED_PAGES_H_

#include <cstdint>
#include <string_view>

namespace plateau {

// Called in a forked child, before its first sample.
void ResetCopiedPages();

// Receives the runs of one COPIED_PAGES record.
struct PageRunSink {
  void* context;
  void (*write)(void* context, std::string_view runs);
};

// Reads the pages when it is time. `private_bytes` is the child's Private_Dirty, `is_last` says that the child ends.
void MaybeReadCopiedPages(uint64_t private_bytes, bool is_last, const PageRunSink& sink);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_LEDGER_COPIED_PAGES_H_
