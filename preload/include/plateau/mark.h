/* Tells Plateau where steps, epochs and phases of a program are. One header, no library to link.
 *
 *   #include <plateau/mark.h>
 *   for (...) {
 *     train_one_batch();
 *     plateau_step();
 *   }
 *
 * The functions are weak: without libplateau.so in the process each call is one test of a pointer and does
 * nothing. Explicit marks win over what Plateau finds by itself. Names are copied, may be NULL, and are cut
 * to 255 bytes.
 *
 * Any thread, any moment. Allocates: never. errno: unchanged. C99 or C++.
 */
#ifndef PLATEAU_MARK_H_
#define PLATEAU_MARK_H_

#ifdef __cplusplus
extern "C" {
#endif

#define PLATEAU_WEAK __attribute__((weak))

PLATEAU_WEAK void plateau_mark_step(const char* name);   /* a training step ends here */
PLATEAU_WEAK void plateau_mark_epoch(const char* name);  /* a pass over the data ends here */
PLATEAU_WEAK void plateau_mark_begin(const char* phase); /* "eval", "checkpoint", or a name of your own */
PLATEAU_WEAK void plateau_mark_end(const char* phase);
PLATEAU_WEAK void plateau_mark_note(const char* text); /* a line in the timeline */
PLATEAU_WEAK int plateau_is_recording(void);

static inline void plateau_step(void) {
  if (plateau_mark_step) plateau_mark_step(0);
}

static inline void plateau_epoch(void) {
  if (plateau_mark_epoch) plateau_mark_epoch(0);
}

static inline void plateau_begin(const char* phase) {
  if (plateau_mark_begin) plateau_mark_begin(phase);
}

static inline void plateau_end(const char* phase) {
  if (plateau_mark_end) plateau_mark_end(phase);
}

static inline void plateau_note(const char* text) {
  if (plateau_mark_note) plateau_mark_note(text);
}

static inline int plateau_recording(void) { return plateau_is_recording ? plateau_is_recording() : 0; }

#undef PLATEAU_WEAK

#ifdef __cplusplus
}
#endif

#endif /* PLATEAU_MARK_H_ */
