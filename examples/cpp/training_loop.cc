// A training loop in C++ with libtorch: two optimizers, an evaluation after each epoch, checkpoints, and on
// request a leak.
//
//   training_loop          healthy; expected verdict: steady
//   training_loop --leak   keeps each batch at the line marked LEAK; expected verdict: inconclusive, and leak with
//                          --epoch-steps 45, because no DataLoader tells the length of an epoch
//
// Prints its own counts as JSON, as the Python examples do.
#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kEpochs = 4;
constexpr int kStepsPerEpoch = 45;
constexpr int kBatch = 32;
constexpr int kWidth = 1024;

torch::Tensor MakeBatch(int step) {
  return torch::full({kBatch, kWidth}, static_cast<double>(step % 7));  // LEAK
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_leaking = argc > 1 && strcmp(argv[1], "--leak") == 0;
  torch::manual_seed(7);
  torch::set_num_threads(1);
  torch::nn::Sequential model(torch::nn::Linear(kWidth, 64), torch::nn::ReLU(), torch::nn::Linear(64, 10));
  torch::optim::AdamW body(model->ptr(0)->parameters());
  torch::optim::SGD head(model->ptr(2)->parameters(), 0.01);
  const torch::Tensor labels = torch::zeros({kBatch}, torch::kLong);
  std::vector<torch::Tensor> kept;
  int steps = 0;
  int evaluations = 0;
  int checkpoints = 0;

  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    model->train();
    for (int i = 0; i < kStepsPerEpoch; ++i) {
      const torch::Tensor inputs = MakeBatch(steps);
      body.zero_grad();
      head.zero_grad();
      torch::nn::functional::cross_entropy(model->forward(inputs), labels).backward();
      body.step();
      head.step();
      if (is_leaking) kept.push_back(inputs);
      ++steps;
    }
    model->eval();
    {
      torch::NoGradGuard no_grad;
      for (int i = 0; i < 5; ++i) model->forward(MakeBatch(i));
    }
    ++evaluations;
    torch::save(model, std::string("/tmp/plateau-training-loop-") + std::to_string(getpid()) + ".pt");
    ++checkpoints;
  }
  remove((std::string("/tmp/plateau-training-loop-") + std::to_string(getpid()) + ".pt").c_str());
  printf(
      "{\"truth\": {\"steps\": %d, \"epochs\": 0, \"evaluations\": %d, \"checkpoints\": %d, "
      "\"leak_bytes_per_step\": %d}}\n",
      steps, evaluations, checkpoints, is_leaking ? kBatch * kWidth * 4 : 0);
  return 0;
}
