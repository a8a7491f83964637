// Hooks that are not about memory: threads, unloaded code and the end of the process and of its children.
#ifndef PLATEAU_PRELOAD_HOOKS_PROCESS_HOOKS_H_
#define PLATEAU_PRELOAD_HOOKS_PROCESS_HOOKS_H_

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

namespace plateau {

// Gives the new thread its creator's stream and stack, which its THREAD_START will name.
int HookPthreadCreate(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                      void* argument);

// After the real call the addresses of unloaded code may mean other code, so stacks are looked up anew.
int HookDlclose(void* handle);

// _exit() runs no destructors, so the orderly end of the process is noted here.
[[noreturn]] void HookExit(int status);

// A child that a signal ended left no word itself: the process that waits for it learns which signal it was. So a job's
// launcher says which rank was killed and which ones it stopped because of that.
long HookWait(long status, long b, long c, long d, long e, long f);
pid_t HookWait3(int* status, int options, struct rusage* usage);
pid_t HookWaitpid(pid_t pid, int* status, int options);
pid_t HookWait4(pid_t pid, int* status, int options, struct rusage* usage);
int HookWaitid(idtype_t type, id_t id, siginfo_t* info, int options);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_HOOKS_PROCESS_HOOKS_H_
