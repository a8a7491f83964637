// exec and spawn of programs that our library cannot be part of.
//
// A 32-bit program's loader complains about LD_PRELOAD on stderr, and musl's refuses to start the program. When such a
// program is started, its environment gets LD_PRELOAD without us, and one line says that it is not recorded. The same
// holds for anything that is started under a seccomp filter that forbids recording.
//
// May run in a child of vfork(), in the memory of its parent: works on the stack alone. errno is that of the real call.
#ifndef PLATEAU_PRELOAD_HOOKS_EXEC_HOOKS_H_
#define PLATEAU_PRELOAD_HOOKS_EXEC_HOOKS_H_

#include <spawn.h>

namespace plateau {

int HookExecve(const char* path, char* const* argv, char* const* environment);
int HookExecv(const char* path, char* const* argv);
int HookExecvp(const char* file, char* const* argv);
int HookExecvpe(const char* file, char* const* argv, char* const* environment);
int HookFexecve(int fd, char* const* argv, char* const* environment);

using SpawnFunction = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                              const posix_spawnattr_t*, char* const*, char* const*);
int HookSpawn(SpawnFunction real, bool searches_path, pid_t* pid, const char* file,
              const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
              char* const* argv, char* const* environment);

// Finds the functions behind the hooks, if that has not been done. Under the guard.
void ResolveIfNeeded();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_EXEC_HOOKS_H_
