// A training loop in C++ with libtorch: two optimizers, an evaluation after each epoch, checkpoints, and on
// request a leak.
//
//   training_loop                     healthy; expected verdict: steady
//   training_loop --leak              keeps each batch at the line marked LEAK; expected verdict: leak
//   training_loop --leak --unmarked   the same without plateau_epoch(); expected verdict: inconclusive,
//   because a cache
//                                     of a data set that is longer than the run would look the same
//
// Plateau finds the steps by itself. Where a pass over the data ends it can only know from a DataLoader or
// from plateau_epoch(), one line that does nothing when the program is not traced.
//
// Prints its own counts as JSON, as the Python examples do.
#include <plateau/mark.h>
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
  bool is_leaking = false;
  bool is_marked = true;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--leak") == 0) is_leaking = true;
    if (strcmp(argv[i], "--unmarked") == 0) is_marked = false;
  }
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
    if (is_marked) plateau_epoch();
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
      "{\"truth\": {\"steps\": %d, \"epochs\": %d, \"evaluations\": %d, \"checkpoints\": %d, "
      "\"leak_bytes_per_step\": %d}}\n",
      steps, is_marked ? kEpochs : 0, evaluations, checkpoints, is_leaking ? kBatch * kWidth * 4 : 0);
  return 0;
}
