// Training loops in C++ with libtorch, one per shape of a step. Prints its own counts as JSON, as the Python
// examples do.
//
//   step_kinds plain | accumulation | two_optimizers | gan | evaluation | custom_optimizer
//
// Expected verdict: steady. Where a pass over the data ends Plateau is told by plateau_epoch(), since
// libtorch's C++ has no loader that can be heard; steps and evaluations it finds by itself. Only the
// optimizer class of the last kind is the program's own: no name is known for its step, so backward passes
// grouped by zero_grad are the clock.
#include <plateau/mark.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kEpochs = 3;
constexpr int kBatches = 24;

struct Counts {
  int steps = 0;
  int evaluations = 0;
};

torch::nn::Sequential MakeModel(int outputs) {
  return torch::nn::Sequential(torch::nn::Linear(64, 32), torch::nn::ReLU(), torch::nn::Linear(32, outputs));
}

torch::Tensor Loss(torch::nn::Sequential& model) {
  return model->forward(torch::randn({8, 64})).square().mean();
}

// An optimizer of the program's own, as a user writes it.
class PlainDescent : public torch::optim::Optimizer {
 public:
  explicit PlainDescent(std::vector<torch::Tensor> parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(std::move(parameters))},
                  std::make_unique<torch::optim::SGDOptions>(0.01)) {}
  torch::Tensor step(LossClosure) override {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : param_groups()[0].params()) parameter.sub_(parameter.grad(), 0.01);
    return {};
  }
};

void Evaluate(torch::nn::Sequential& model, Counts* counts) {
  model->eval();
  torch::NoGradGuard no_grad;
  for (int i = 0; i < 4; ++i) model->forward(torch::randn({8, 64}));
  model->train();
  ++counts->evaluations;
}

// One batch of a loop with one model; `period` batches make a step.
void TrainOneModel(const char* kind, Counts* counts) {
  const bool is_custom = strcmp(kind, "custom_optimizer") == 0;
  const bool has_two = strcmp(kind, "two_optimizers") == 0;
  const int period = strcmp(kind, "accumulation") == 0 ? 4 : 1;
  torch::nn::Sequential model = MakeModel(4);
  torch::optim::Adam adam(has_two ? model->ptr(0)->parameters() : model->parameters());
  torch::optim::SGD sgd(model->ptr(2)->parameters(), 0.01);
  PlainDescent custom(model->parameters());
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (int batch = 0; batch < kBatches; ++batch) {
      if (batch % period == 0) {
        if (is_custom) custom.zero_grad();
        if (!is_custom) adam.zero_grad();
        if (has_two) sgd.zero_grad();
      }
      Loss(model).backward();
      if (batch % period != period - 1) continue;
      if (is_custom) custom.step(nullptr);
      if (!is_custom) adam.step();
      if (has_two) sgd.step();
      ++counts->steps;
      if (strcmp(kind, "evaluation") == 0 && counts->steps % 10 == 0) Evaluate(model, counts);
    }
    plateau_epoch();
  }
}

void TrainGan(Counts* counts) {
  torch::nn::Sequential generator = MakeModel(64);
  torch::nn::Sequential critic = MakeModel(1);
  torch::optim::Adam generator_optimizer(generator->parameters());
  torch::optim::Adam critic_optimizer(critic->parameters());
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (int batch = 0; batch < kBatches; ++batch) {
      critic_optimizer.zero_grad();
      Loss(critic).backward();
      const torch::Tensor fake = generator->forward(torch::randn({8, 64}));
      critic->forward(fake.detach()).mean().backward();
      critic_optimizer.step();
      generator_optimizer.zero_grad();
      critic->forward(fake).mean().neg().backward();
      generator_optimizer.step();
      ++counts->steps;
    }
    plateau_epoch();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "plain";
  torch::manual_seed(7);
  torch::set_num_threads(1);
  Counts counts;
  if (strcmp(kind, "gan") == 0) {
    TrainGan(&counts);
  } else {
    TrainOneModel(kind, &counts);
  }
  printf("{\"truth\": {\"steps\": %d, \"epochs\": %d, \"evaluations\": %d}}\n", counts.steps, kEpochs,
         counts.evaluations);
  return 0;
}
