// C++: virtual stages, nested micro-batches, a bounded ring or a leak; 40 outer x 25 inner
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>
using V = std::vector<double>;
struct Stage {
  virtual ~Stage() = default;
  virtual V run(const V& x) = 0;
};
struct Scale : Stage {
  V run(const V& x) override {
    V y(x);
    for (auto& v : y) v *= 2;
    return y;
  }
};
struct Shift : Stage {
  V run(const V& x) override {
    V y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
    return y;
  }
};
static std::deque<V> kept;
__attribute__((noinline)) void keep(const V& v, bool ring) {
  kept.push_back(v);  // HOLD
  if (ring && kept.size() > 100) kept.pop_front();
}
__attribute__((noinline)) double epoch(std::vector<std::unique_ptr<Stage>>& s, const char* kind) {
  double sum = 0;
  for (int i = 0; i < 25; ++i) {
    V x(5000, i);
    for (auto& p : s) x = p->run(x);
    sum += x[1];
    if (*kind == 'l') keep(x, false);
    if (*kind == 'r') keep(x, true);
  }
  return sum;
}
int main(int c, char** v) {
  const char* kind = c > 1 ? v[1] : "ok";
  std::vector<std::unique_ptr<Stage>> s;
  s.emplace_back(new Scale);
  s.emplace_back(new Shift);
  double t = 0;
  for (int e = 0; e < 40; ++e) {
    t += epoch(s, kind);
    V stat(4000, t);
    t += stat[7];
  }
  printf("COUNT steps=1000 epochs=40\n");
  return t < 0;
}
