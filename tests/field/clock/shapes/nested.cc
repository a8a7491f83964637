// C++: epochs and batches in one function; a cache of the data set, everything kept, or nothing. ok|leak|cache ; 6 x 120 batches
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using Values = std::vector<float>;

[[gnu::noinline]] Values Load(int index) { return Values(9000, static_cast<float>(index)); }

[[gnu::noinline]] float Train(const Values& x, Values* weights) {
  float loss = 0;
  Values gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) loss += gradient[i] = x[i] * (*weights)[i] - 1;
  for (size_t i = 0; i < x.size(); ++i) (*weights)[i] -= 1e-6F * gradient[i];
  return loss;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  Values weights(9000);
  std::map<int, Values> cache;
  std::vector<std::unique_ptr<Values>> kept;
  float loss = 0;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int batch = 0; batch < 120; ++batch) {
      Values x = Load(batch);
      loss += Train(x, &weights);
      if (kind == "leak") kept.push_back(std::make_unique<Values>(x));  // HOLD 36 kB
      if (kind == "cache" && epoch == 0) cache[batch] = x;
    }
  }
  std::printf("COUNT steps=720 epochs=6 loss %g\n", static_cast<double>(loss));
}
