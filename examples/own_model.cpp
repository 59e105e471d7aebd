// A model and data of your own, trained by a Trainer: two spirals in the plane, and a net that tells them apart.
//
//   lockstep run -n 2 -- own_model
//
// Stop it with Ctrl-C or kill it, start it again, and it goes on from its last checkpoint.
#include <cmath>

#include <fmt/format.h>
#include <torch/torch.h>

#include <lockstep/lockstep.h>

namespace {

namespace ls = lockstep;

struct SpiralNet : ls::nn::Model {
  SpiralNet() : Model(/*input_shape=*/{2}, /*num_classes=*/2) {}
  at::Tensor forward(at::Tensor points) override { return output(torch::tanh(second(torch::tanh(first(points))))); }

  torch::nn::Linear first = register_module("first", torch::nn::Linear(2, 64));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(64, 64));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(64, 2));
};

ls::data::DatasetPtr make_spirals(std::int64_t count, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const auto labels = torch::randint(2, {count}, generator, torch::kLong);
  const auto turn = torch::rand({count}, generator) * 3 * M_PI;
  const auto angle = turn + labels * M_PI;  // the second spiral is the first, turned by half a turn
  const auto points = torch::stack({turn * angle.cos(), turn * angle.sin()}, 1) / (3 * M_PI);
  return ls::data::tensor_dataset(points + 0.01 * torch::randn({count, 2}, generator), labels);
}

// All that a program wants to do along the way is a callback.
struct Talk : ls::train::Callback {
  void on_epoch(const ls::train::EpochReport& report) override {
    if (report.epoch % 10 != 0) return;
    fmt::print("epoch {:3}  loss {:.4f}  test accuracy {:.1f}%\n", report.epoch, report.train.loss,
               report.test->accuracy.at("top1") * 100);
  }
};

int body(int /*argc*/, char** /*argv*/) {
  const ls::World world;
  constexpr std::int64_t kTrain = 2000, kTest = 500, kBatch = 100;
  ls::data::Loader train(make_spirals(kTrain, 1), ls::data::DistributedSampler(kTrain, world.id()),
                         {.batch_size = kBatch / world.size()});
  ls::data::Loader test(make_spirals(kTest, 2),
                        ls::data::DistributedSampler(kTest, world.id(),
                                                     {.order = ls::data::Order::kSequential,  // each sample once,
                                                      .tail = ls::data::Tail::kUneven}),      // at any number of ranks
                        {.batch_size = kBatch});

  const std::filesystem::path checkpoints = "runs/own_model/checkpoints";
  if (world.rank() == 0) std::filesystem::create_directories(checkpoints);
  ls::train::TrainerOptions options{.epochs = 60,
                                    .schedule = ls::optim::cosine({.length = 60}),
                                    .rate = {.rate = 0.01},
                                    .checkpoint = {.folder = checkpoints},
                                    .seed = 1};
  options.step.optimizer = [](const auto& groups) { return ls::optim::make_optimizer("adam", groups); };

  torch::manual_seed(1);
  ls::train::Trainer trainer(std::make_shared<SpiralNet>(), train, &test, world, options);
  if (world.rank() == 0) trainer.add(std::make_shared<Talk>());
  const auto newest = ls::checkpoint::newest_good(checkpoints);
  if (newest.checkpoint) trainer.restore_checkpoint(newest.checkpoint->folder());
  const auto result = trainer.train();
  if (world.rank() == 0) {
    fmt::print("{} steps on {} ranks; the last checkpoint is {}\n", result.steps, world.size(),
               result.checkpoint->string());
  }
  return ls::kExitSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  return ls::report_errors(ls::discover_placement().rank, body, argc, argv);
}
