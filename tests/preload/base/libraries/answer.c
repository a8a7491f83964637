// Built twice, with ANSWER 1 and 2.
int plateau_test_answer(void) { return ANSWER; }
