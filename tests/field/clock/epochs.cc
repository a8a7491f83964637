// C++: 8 epochs x 100 steps, helpers, ok|leak
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>
using V = std::vector<float>;
static std::vector<std::unique_ptr<V>> kept;
static bool leak_on;
static volatile float sink;
__attribute__((noinline)) V load(int i) { return V(8192, float(i)); }
__attribute__((noinline)) V forward(const V& x) {
  V h(x.size());
  for (size_t i = 0; i < x.size(); ++i) h[i] = x[i] * 2;
  return h;
}
__attribute__((noinline)) void backward(const V& h) {
  V g(h);
  for (auto& v : g) v += 1;
  sink = std::accumulate(g.begin(), g.end(), 0.f);
}
__attribute__((noinline)) void remember(const V& h) { kept.push_back(std::make_unique<V>(h)); }  // HOLD
__attribute__((noinline)) void evaluate() {
  for (int i = 0; i < 10; ++i) {
    V x = load(i);
    V h = forward(x);
    sink = h[3];
  }
}
int main(int c, char** v) {
  leak_on = c > 1 && !strcmp(v[1], "leak");
  int n = 0;
  for (int e = 0; e < 8; ++e) {
    for (int b = 0; b < 100; ++b) {
      V x = load(b);
      V h = forward(x);
      backward(h);
      if (leak_on) remember(h);
      ++n;
    }
    evaluate();
  }
  printf("COUNT steps=%d epochs=8\n", n);
}
