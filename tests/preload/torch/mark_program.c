/* Marks three steps, an epoch and an evaluation; exits 0 whether or not somebody listens, and prints which.
 */
#include <errno.h>
#include <plateau/mark.h>
#include <stdio.h>

int main(void) {
  errno = 33;
  for (int i = 0; i < 3; ++i) plateau_step();
  plateau_epoch();
  plateau_begin("eval");
  plateau_end("eval");
  plateau_note("done");
  if (errno != 33) return 1;
  printf("recording=%d\n", plateau_recording());
  return 0;
}
