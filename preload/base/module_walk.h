// dl_iterate_phdr() for the shim: no fork() is left waiting for a lock of the loader because of us.
//
// dl_iterate_phdr() holds a lock of the loader. fork() copies that lock as it is, so a child that was made while another
// thread walked over the modules has a lock whose owner does not exist, and waits for ever in its first dl_iterate_phdr()
// or dlopen(). A program that never walks itself cannot meet that; ours would, because we walk on ticks. So:
//
//   fork()            waits until no walk of ours is under way, and new ones wait for the fork
//   child of a fork   whose parent's other threads were inside the loader on their own account: no walk of ours at
//                     all. It visits nothing, and IsLoaderUsable() says so
//
// Both waits end after two seconds: then a walk was stopped, or the fork is made from inside one.
//
// Safety: not in signal handlers; nested walks are right. Allocates: never, but for PrepareModuleWalks(), which registers
// with libc. Throws: never. errno: untouched.
#ifndef PLATEAU_PRELOAD_BASE_MODULE_WALK_H_
#define PLATEAU_PRELOAD_BASE_MODULE_WALK_H_

#include <link.h>
#include <stddef.h>

namespace plateau {

// Once, before other threads walk: registers with fork() and finds the loader's locks.
void PrepareModuleWalks();

// As dl_iterate_phdr(); 0 when there is nothing to be visited.
int WalkModules(int (*visit)(dl_phdr_info*, size_t, void*), void* data);

// In a child that was made by a bare clone(), which nobody announces. One thread is left in it.
void ResetModuleWalksInChild();

// False in a child whose copy of the loader is locked for good.
bool IsLoaderUsable();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_MODULE_WALK_H_
