// Synchronous SGD on MNIST in four steps, with nothing but a process group:
//
//   1. init        every process finds the others
//   2. partition   each rank takes its part of every batch
//   3. broadcast   all ranks start from rank 0's parameters
//   4. all-reduce  gradients are averaged before each step
//
//   lockstep run -n 2 -- mnist_sync_sgd
//
// N ranks with batch B/N do the same arithmetic as one rank with batch B, up to the order in which sums are rounded;
// with
// --float64 the losses stay equal to 1e-5 and better through all epochs.
#include <fmt/format.h>
#include <torch/torch.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/lockstep.h>

namespace {

struct Options {
  std::string backend = "auto";
  std::filesystem::path data = lockstep::data::default_mnist_folder();
  std::filesystem::path output = "runs/mnist_sync_sgd";
  int epochs = 3;
  int batch = 128;   // of all ranks together
  int steps = 0;     // of an epoch; 0: all that the data gives
  double lr = 0.05;  // at the start; it falls in a straight line to zero
  std::uint64_t seed = 1;
  bool float64 = false;
};

torch::nn::Sequential make_model() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 5)), nn::ReLU(), nn::MaxPool2d(2),   //
                        nn::Conv2d(nn::Conv2dOptions(16, 32, 5)), nn::ReLU(), nn::MaxPool2d(2),  //
                        nn::Flatten(), nn::Linear(32 * 4 * 4, 128), nn::ReLU(), nn::Linear(128, 10));
}

void set_learning_rate(torch::optim::SGD& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

// The part of `batch` that belongs to this rank.
torch::Tensor part_of(const torch::Tensor& batch, const lockstep::Group& group) {
  return batch.tensor_split(group.size())[group.rank()];
}

// The samples of an epoch in their global order, the same on every rank and for any number of ranks.
torch::Tensor global_order(std::int64_t samples, std::uint64_t seed, int epoch) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed * 1'000'003 + epoch);
  return torch::randperm(samples, generator, torch::kLong);
}

torch::Tensor inputs(const lockstep::data::Mnist& data, const torch::Tensor& indices, const Options& options) {
  return data.normalized(indices).to(options.float64 ? torch::kDouble : torch::kFloat);
}

double test_accuracy(torch::nn::Sequential& model, const lockstep::data::Mnist& test, const lockstep::Group& group,
                     const Options& options) {
  torch::NoGradGuard no_grad;
  auto correct = torch::zeros({}, torch::kLong);
  for (const auto& indices : part_of(torch::arange(test.size()), group).split(500)) {
    const auto predicted = model->forward(inputs(test, indices, options)).argmax(1);
    correct += predicted.eq(test.labels.index_select(0, indices)).sum();
  }
  group.all_reduce(correct);
  return correct.item<double>() / static_cast<double>(test.size());
}

void train(const Options& options, const lockstep::World& world) {
  const bool speaks = world.rank() == 0;
  const auto started = std::chrono::steady_clock::now();
  const auto train_set = lockstep::data::read_mnist(options.data, lockstep::data::Split::kTrain);
  const auto test_set = lockstep::data::read_mnist(options.data, lockstep::data::Split::kTest);
  if (speaks) {
    fmt::print("lockstep {} · {} · {} · {} each\n", lockstep::version(), lockstep::format_plural(world.size(), "rank"),
               world.backend(), lockstep::format_plural(at::get_num_threads(), "thread"));
    fmt::print("mnist {} / {} · batch {} · learning rate {}\n", lockstep::format_count(train_set.size()),
               lockstep::format_count(test_set.size()), options.batch, options.lr);
  }

  torch::manual_seed(options.seed);
  auto model = make_model();
  if (options.float64) model->to(torch::kDouble);
  for (const auto& parameter : model->parameters()) world.broadcast(parameter);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(options.lr).momentum(0.9));

  std::string metrics;
  double accuracy = 0;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto order = global_order(train_set.size(), options.seed, epoch);
    const std::int64_t all_steps = train_set.size() / options.batch;
    const std::int64_t steps = options.steps > 0 ? std::min<std::int64_t>(options.steps, all_steps) : all_steps;
    lockstep::Progress progress(fmt::format("epoch {}/{}", epoch, options.epochs), steps, speaks);
    const auto epoch_started = std::chrono::steady_clock::now();
    auto loss_sum = torch::zeros({}, torch::kDouble);
    std::string details;
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto indices = part_of(order.slice(0, step * options.batch, (step + 1) * options.batch), world);
      const auto done = static_cast<double>((epoch - 1) * steps + step) / static_cast<double>(options.epochs * steps);
      set_learning_rate(optimizer, options.lr * (1 - done));
      optimizer.zero_grad();
      const auto outputs = model->forward(inputs(train_set, indices, options));
      const auto loss = torch::nn::functional::cross_entropy(outputs, train_set.labels.index_select(0, indices));
      loss.backward();
      for (const auto& parameter : model->parameters()) {
        world.all_reduce(parameter.grad(), lockstep::Reduce::kAverage);
      }
      optimizer.step();

      loss_sum += loss.detach();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - epoch_started;
      const auto rate = static_cast<std::int64_t>(static_cast<double>((step + 1) * options.batch) / elapsed.count());
      details = fmt::format("{} samples/s", lockstep::format_count(rate));
      progress.update(step + 1, details);
    }
    world.all_reduce(loss_sum, lockstep::Reduce::kAverage);
    const double loss = loss_sum.item<double>() / static_cast<double>(steps);
    accuracy = test_accuracy(model, test_set, world, options);
    progress.finish(fmt::format("{}  loss {:.6f}  test {:.2f}%", details, loss, accuracy * 100));
    metrics += fmt::format("{{\"epoch\": {}, \"loss\": {:.9f}, \"top1\": {:.4f}}}\n", epoch, loss, accuracy);
  }

  if (speaks) {
    std::ostringstream weights;
    torch::save(model, weights);
    std::filesystem::create_directories(options.output);
    lockstep::files::write_atomically(options.output / "model.pt", weights.str());
    lockstep::files::write_atomically(options.output / "metrics.jsonl", metrics);
    fmt::print("done in {}: test accuracy {:.2f}% · {} (model.pt, metrics.jsonl)\n",
               lockstep::format_duration(std::chrono::steady_clock::now() - started), accuracy * 100,
               options.output.string());
  }
}

int body(int argc, char** argv) {
  Options options;
  CLI::App program("Trains MNIST by synchronous SGD.", "mnist_sync_sgd");
  program.add_option("--backend", options.backend, "How ranks talk: auto, local, gloo, ccl; mpi under mpirun and srun")
      ->capture_default_str();
  program.add_option("--data", options.data, "Folder of MNIST's four files")->capture_default_str();
  program.add_option("--output", options.output, "Folder for what the run leaves")->capture_default_str();
  program.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber)->capture_default_str();
  program.add_option("--batch", options.batch, "Samples a step, of all ranks together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  program.add_option("--steps", options.steps, "Steps an epoch; 0 for all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  program.add_flag("--float64", options.float64, "Compute in double precision");
  program.add_option("--lr", options.lr, "Learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  program.add_option("--seed", options.seed)->capture_default_str();
  if (const auto done = lockstep::parse_command_line(program, argc, argv)) return *done;

  const lockstep::World world({.backend = options.backend});
  if (options.batch % world.size() != 0) {
    throw lockstep::UsageError({.message = "the batch cannot be divided evenly over the ranks",
                                .found = fmt::format("--batch {} on {} ranks", options.batch, world.size()),
                                .expected = fmt::format("a multiple of {}", world.size())});
  }
  train(options, world);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}
