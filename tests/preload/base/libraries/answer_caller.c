// Built twice, each linked with one of the two answers. The addition keeps the call from becoming a jump, which would
// make this library's caller the one that is seen.
int plateau_test_answer(void);
int plateau_test_ask(void) { return 1000 + plateau_test_answer(); }
