// The code that waits inside the program for its next allocation, and the bytes around it.
//
//   import word of malloc -> blob's entry for malloc -> (once, by one thread) dlopen, plateau_attach -> real malloc
//   import word of fork -> blob's entry for fork -> (when no thread is loading) real fork; its child does not load
//
// The blob is position independent and has no relocation, so the injector copies the bytes of its own section into the
// unused end of a page of code. It needs nothing but two more such places, one that need only be readable and one that can
// be written to:
//
//   blob     [address of BlobConstants][entries, 16 bytes each][code], in the order of the assembler
//   BlobConstants   what the injector knows           BlobState   what the blob writes
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_BLOB_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_BLOB_H_

#include <cstddef>
#include <cstdint>

#include "preload/attach/attach_request.h"

namespace plateau::cli {

// The functions whose calls are led to the blob. Whatever allocates calls one of them. The last is led there so that no child
// has a loader that was at work when it was made.
// Operators are there for allocators that bring their own and call their inside from them.
inline constexpr const char* kBlobFunctions[] = {
    "malloc", "calloc", "realloc", "free",   "posix_memalign", "memalign", "aligned_alloc", "mmap",
    "munmap", "_Znwm",  "_Znam",   "_ZdlPv", "_ZdaPv",         "_ZdlPvm",  "_ZdaPvm",       "fork"};
inline constexpr size_t kBlobFunctionCount = sizeof(kBlobFunctions) / sizeof(kBlobFunctions[0]);
inline constexpr size_t kBlobOperators = 9;  // the first of them; a program of C has none
inline constexpr size_t kBlobFork = kBlobFunctionCount - 1;
inline constexpr size_t kMaxLoaderLocks = 16;

enum BlobProgress : uint32_t {
  kBlobWaiting = 0,  // the next caller loads
  kBlobLoading = 1,
  kBlobLoaded = 2,    // BlobState::result is what plateau_attach() said
  kBlobFailed = 3,    // BlobState::error is what the loader said
  kBlobDisarmed = 4,  // callers go on to the real function
  kBlobFileMade = 5,  // BlobState::fd waits for the library's bytes; callers go on meanwhile
};

struct BlobState {
  uint32_t progress;
  uint32_t loader_thread;  // 0 until one loads
  uint32_t passed_over;    // calls that came while their thread held a lock of the loader
  int32_t fd;              // of the memory file, -1: none
  uint64_t stack_top;      // of the stack on which the loading runs; kept for the next time
  int32_t result;
  uint32_t words;
  uint32_t modules;
  uint32_t modules_left_out;
  uint32_t program_imports;
  uint32_t unused;
  uint64_t patched_ns;
  uint64_t held_ns;  // how long the loading thread was held up
  char error[52];    // its beginning: some C libraries have no more than 128 bytes to spare
  uint32_t forks;    // threads inside fork(), counted for as long as the blob lives
};

static_assert(sizeof(BlobState) <= 128);

struct BlobConstants {
  BlobState* state;
  uint64_t real[kBlobFunctionCount];
  void* (*dlopen)(const char*, int);
  char* (*dlerror)();
  void* (*dlsym)(void*, const char*);
  int* (*errno_location)();
  int32_t (*entry)(AttachRequest*);        // of the library when it is loaded already; null: open `path`
  uint64_t loader_locks[kMaxLoaderLocks];  // recursive mutexes of the loader; their owner is a word at +8
  uint32_t use_memory_file;                // make one first; its bytes come from the injector
  char path[300];
  char entry_name[16];
  AttachRequest request;
};

// What is to be copied, to an address that is a multiple of 64.
struct BlobBytes {
  const unsigned char* begin;
  size_t size;
  size_t constants_offset;  // of eight bytes that become the address of the constants
  size_t entry_offset;      // of the entry for kBlobFunctions[0]; the next is kBlobEntryBytes further
};
inline constexpr size_t kBlobEntryBytes = 16;
BlobBytes GetBlobBytes();  // size 0 on processors for which there is none

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_BLOB_H_
