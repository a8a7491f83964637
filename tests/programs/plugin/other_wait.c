// A library whose wait() has nothing to do with children: its argument is a number, not an address.
int wait(int seconds);
int wait(int seconds) { return seconds + 1; }
