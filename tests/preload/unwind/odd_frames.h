// Frames written in assembly: see odd_frames.S.
#ifndef PLATEAU_TESTS_PRELOAD_UNWIND_ODD_FRAMES_H_
#define PLATEAU_TESTS_PRELOAD_UNWIND_ODD_FRAMES_H_

extern "C" {
void CallWithoutCfi(void (*function)(void*), void* argument);
void CallWithOddFrame(void (*function)(void*), void* argument);
void CallWithSavedCfa(void (*function)(void*), void* argument);
void CallOnStack(void (*function)(void*), void* argument, void* top);
void CallOnStackWithWrongCfi(void (*function)(void*), void* argument, void* top);
}

#endif  // PLATEAU_TESTS_PRELOAD_UNWIND_ODD_FRAMES_H_
