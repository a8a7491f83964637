// A small multi-layer perceptron trained with libtorch: torch_train [STEPS]
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/workloads/own_cost.h"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1500;
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const auto start = std::chrono::steady_clock::now();
  torch::nn::Sequential net(torch::nn::Linear(64, 128), torch::nn::ReLU(), torch::nn::Linear(128, 128),
                            torch::nn::ReLU(), torch::nn::Linear(128, 10));
  torch::optim::Adam optimizer(net->parameters(), 1e-3);
  double total = 0;
  for (int step = 0; step < steps; ++step) {
    const auto x = torch::randn({32, 64});
    const auto y = torch::randint(0, 10, {32});
    optimizer.zero_grad();
    auto loss = torch::cross_entropy_loss(net->forward(x), y);
    loss.backward();
    optimizer.step();
    total += loss.item<double>();
  }
  std::printf("loss %.4f\n", total / steps);
  PrintOwnCost(start);
  return 0;
}
