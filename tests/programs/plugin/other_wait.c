// A library whose wait() has nothing to do with children: it adds up words and numbers, and returns a pointer.
const char* wait(long a, const char* text, double half, int c, long d, long e, long f);
const char* wait(long a, const char* text, double half, int c, long d, long e, long f) {
  return text + a + (long)(2 * half) + c + d + e + f;
}
