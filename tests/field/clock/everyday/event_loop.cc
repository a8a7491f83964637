// C++: an event loop over a priority queue of std::function, 6,000 events of three kinds; finished ones stay in a log, or not. ok|leak
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace {

struct Outcome {
  std::string name;
  std::vector<int> samples;
};

class Loop {
 public:
  explicit Loop(bool keeps) : keeps_(keeps) {}
  void At(double time, std::function<void()> what) { queue_.push({time, std::move(what)}); }
  void Note(int number) {
    auto outcome = std::make_shared<Outcome>();                               // HOLD
    outcome->name = "the outcome of event number " + std::to_string(number);  // HOLD
    outcome->samples.assign(static_cast<size_t>(200 + number % 90), number);  // HOLD
    if (keeps_) log_[number] = std::move(outcome);                            // HOLD
  }
  int Run() {
    int events = 0;
    while (!queue_.empty()) {
      Entry next = queue_.top();
      queue_.pop();
      now_ = next.time;
      next.what();
      ++events;
    }
    return events;
  }
  double now() const { return now_; }

 private:
  struct Entry {
    double time;
    std::function<void()> what;
    bool operator<(const Entry& other) const { return time > other.time; }
  };
  const bool keeps_;
  double now_ = 0;
  std::priority_queue<Entry> queue_;
  std::map<int, std::shared_ptr<Outcome>> log_;
};

}  // namespace

int main(int argc, char** argv) {
  Loop loop(argc > 1 && std::string(argv[1]) == "leak");
  int made = 0;
  std::function<void(int)> arrive = [&](int number) {
    loop.Note(number);
    if (made < 5994) {
      ++made;
      loop.At(loop.now() + 1.0 / (1 + number % 7), [&arrive, n = made + 6] { arrive(n); });
    }
  };
  for (int i = 0; i < 6; ++i) loop.At(i, [&arrive, i] { arrive(i); });
  std::printf("COUNT events=%d\n", loop.Run());
}
