// C++: requests handled one after the other; keeps each answer, a window of them, or none. ok|leak|window ; 900 requests
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

std::deque<std::vector<char>> g_history;

[[gnu::noinline]] std::vector<char> Answer(int request) {
  std::vector<char> page(20000, static_cast<char>(request));
  std::vector<char> answer(30000);
  std::memcpy(answer.data(), page.data(), page.size());
  return answer;
}

[[gnu::noinline]] void Remember(const std::vector<char>& answer, size_t most) {
  g_history.push_back(answer);  // HOLD
  if (g_history.size() > most) g_history.pop_front();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  for (int request = 0; request < 900; ++request) {
    const std::vector<char> answer = Answer(request);
    if (kind == "leak") Remember(answer, 1000000);
    if (kind == "window") Remember(answer, 100);
  }
  std::printf("COUNT rounds=900\n");
}
