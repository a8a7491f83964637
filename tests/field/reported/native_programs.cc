#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

std::mt19937_64 draw(1);
struct Node {
  std::shared_ptr<Node> other;
  std::vector<float> weights = std::vector<float>(600);
};
void Cycle() {
  auto a = std::make_shared<Node>(), b = std::make_shared<Node>();
  a->other = b;
  b->other = a;
}
void Lru() {
  std::unordered_map<int, std::string> cache;
  std::list<int> order;
  for (int i = 0; i < 40000; ++i) {
    int key = draw() % 5000;
    if (!cache.count(key)) {
      cache[key] = std::string(4000, 'x');
      order.push_back(key);
      if (order.size() > 1000) cache.erase(order.front()), order.pop_front();
    }
  }
}
void Log() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "step " + std::to_string(i) + " loss 0.1234567 and so on\n";
  printf("%zu\n", text.size());
}
void Requests() {
  static std::map<long, std::vector<char>> sessions;
  for (int i = 0; i < 20000; ++i) {
    std::vector<char> body(20000 + draw() % 4000);
    sessions[i] = std::vector<char>(500);
  }
}
void Matrices() {
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> a(4000 + draw() % 8000, 1.0), b(a);
    for (double v : b) sum += v;
  }
  printf("%f\n", sum);
}
void Pool() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 3000; ++i) std::vector<char> v(1000 + i % 50000, 'x');
    });
  for (auto& t : threads) t.join();
}
int main(int, char** argv) {
  std::string kind = argv[1];
  if (kind == "cycles")
    for (int i = 0; i < 6000; ++i) Cycle();
  if (kind == "lru") Lru();
  if (kind == "log") Log();
  if (kind == "requests") Requests();
  if (kind == "matrices") Matrices();
  if (kind == "pool") Pool();
}
