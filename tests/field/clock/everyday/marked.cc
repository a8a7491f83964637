// C++ with plateau_mark_step: 300 steps of a simulation, snapshots in a vector, a ring of 20, or none. ok|leak|ring
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "plateau/mark.h"

namespace {

class World {
 public:
  World() : heights_(4000) {}
  void Advance(int step) {
    std::vector<double> next(heights_.size());
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = 0.5 * heights_[i] + 0.5 * heights_[(i + 1) % next.size()] + std::sin(step * 0.1);
    heights_.swap(next);
  }
  std::unique_ptr<std::vector<double>> Snapshot() const {
    return std::make_unique<std::vector<double>>(heights_);  // HOLD 32 kB
  }

 private:
  std::vector<double> heights_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  World world;
  std::vector<std::unique_ptr<std::vector<double>>> shots(kind == "ring" ? 20 : 0);
  for (int step = 0; step < 300; ++step) {
    world.Advance(step);
    if (kind == "leak") shots.push_back(world.Snapshot());
    if (kind == "ring") shots[step % 20] = world.Snapshot();
    if (plateau_mark_step != nullptr) plateau_mark_step(nullptr);
  }
  std::printf("COUNT steps=300\n");
}
