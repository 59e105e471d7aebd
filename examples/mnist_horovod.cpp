// MNIST as in Horovod's tutorial. What is added to a program for one process:
//
//   1. hvd::init()              every process finds the others; its threads have cores of their own (lockstep run)
//   2. partition                each rank takes its part of the samples
//   3. learning rate            times the number of ranks, reached in a warm-up from that of one
//   4. DistributedOptimizer     round the optimizer: gradients are averaged while backward runs
//   5. broadcast                parameters and the optimizer's state, from rank 0
//
// and only rank 0 saves.
//
//   lockstep run -n 2 -- mnist_horovod
#include <fmt/format.h>
#include <torch/torch.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/lockstep.h>

namespace {

namespace hvd = lockstep::hvd;

struct Options {
  std::string backend = "auto";
  std::filesystem::path data = lockstep::data::default_mnist_folder();
  std::filesystem::path output = "runs/mnist_horovod";
  int epochs = 3;
  int batch = 64;     // of each rank
  int steps = 0;      // of an epoch; 0: all that the data gives
  double lr = 0.01;   // of one rank
  double warmup = 1;  // epochs
  std::string reduction = "average";
  bool fp16 = false;  // gradients on their way
  std::uint64_t seed = 1;
};

torch::nn::Sequential make_model() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 5)), nn::ReLU(), nn::MaxPool2d(2),   //
                        nn::Conv2d(nn::Conv2dOptions(16, 32, 5)), nn::ReLU(), nn::MaxPool2d(2),  //
                        nn::Flatten(), nn::Linear(32 * 4 * 4, 128), nn::ReLU(), nn::Linear(128, 10));
}

lockstep::DistributedOptimizerOptions optimizer_options(const Options& options) {
  using lockstep::GradientReduction;
  return {.reduction = options.reduction == "adasum" ? GradientReduction::kAdasum : GradientReduction::kAverage,
          .compression = options.fp16 ? hvd::Compression::kFp16 : hvd::Compression::kNone};
}

// From the rate of one rank to that of all in a straight line, over the warm-up. Adasum needs no larger rate.
double learning_rate(const Options& options, double epochs_done) {
  const double scaled = options.lr * (options.reduction == "adasum" ? 1 : hvd::size());
  return epochs_done >= options.warmup ? scaled : options.lr + (scaled - options.lr) * epochs_done / options.warmup;
}

// Every rank makes the same permutation of all samples, and takes each size()-th.
torch::Tensor samples_of_rank(std::int64_t samples, std::uint64_t seed, int epoch) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed * 1'000'003 + epoch);
  return torch::randperm(samples, generator, torch::kLong).slice(0, hvd::rank(), std::nullopt, hvd::size());
}

double test_accuracy(torch::nn::Sequential& model, const lockstep::data::Mnist& test) {
  torch::NoGradGuard no_grad;
  auto correct = torch::zeros({}, torch::kLong);
  for (const auto& indices : torch::arange(test.size()).tensor_split(hvd::size())[hvd::rank()].split(500)) {
    const auto predicted = model->forward(test.normalized(indices)).argmax(1);
    correct += predicted.eq(test.labels.index_select(0, indices)).sum();
  }
  return hvd::allreduce(correct, "correct", hvd::Sum).item<double>() / static_cast<double>(test.size());
}

void train(const Options& options) {
  const bool speaks = hvd::rank() == 0;
  const auto started = std::chrono::steady_clock::now();
  const auto train_set = lockstep::data::read_mnist(options.data, lockstep::data::Split::kTrain);
  const auto test_set = lockstep::data::read_mnist(options.data, lockstep::data::Split::kTest);
  const std::int64_t all_steps = train_set.size() / (static_cast<std::int64_t>(options.batch) * hvd::size());
  const std::int64_t steps = options.steps > 0 ? std::min<std::int64_t>(options.steps, all_steps) : all_steps;
  if (speaks) {
    fmt::print("lockstep {} · {} · {} · {} each\n", lockstep::version(), lockstep::format_plural(hvd::size(), "rank"),
               hvd::world().backend(), lockstep::format_plural(at::get_num_threads(), "thread"));
    fmt::print("mnist {} / {} · batch {} x {} · learning rate {:g} to {:g}\n", lockstep::format_count(train_set.size()),
               lockstep::format_count(test_set.size()), options.batch, hvd::size(), learning_rate(options, 0),
               learning_rate(options, options.epochs));
  }

  torch::manual_seed(options.seed + static_cast<std::uint64_t>(hvd::rank()));
  auto model = make_model();
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(options.lr).momentum(0.9));
  hvd::DistributedOptimizer optimizer(sgd, model->named_parameters(), optimizer_options(options));
  hvd::broadcast_parameters(model->named_parameters());
  hvd::broadcast_optimizer_state(sgd);

  std::string metrics;
  double accuracy = 0;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto samples = samples_of_rank(train_set.size(), options.seed, epoch);
    lockstep::Progress progress(fmt::format("epoch {}/{}", epoch, options.epochs), steps, speaks);
    auto loss_sum = torch::zeros({}, torch::kDouble);
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto indices = samples.slice(0, step * options.batch, (step + 1) * options.batch);
      optimizer.set_learning_rate(
          learning_rate(options, epoch - 1 + static_cast<double>(step) / static_cast<double>(steps)));
      optimizer.zero_grad();
      const auto outputs = model->forward(train_set.normalized(indices));
      const auto loss = torch::nn::functional::cross_entropy(outputs, train_set.labels.index_select(0, indices));
      loss.backward();
      optimizer.step();
      loss_sum += loss.detach();
      progress.update(step + 1, "");
    }
    const double loss = hvd::allreduce(loss_sum, "loss").item<double>() / static_cast<double>(steps);
    accuracy = test_accuracy(model, test_set);
    progress.finish(fmt::format("loss {:.6f}  test {:.2f}%", loss, accuracy * 100));
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
  CLI::App program("Trains MNIST as Horovod's tutorial does.", "mnist_horovod");
  program.add_option("--backend", options.backend, "How ranks talk: auto, local, gloo, ccl; mpi under mpirun and srun")
      ->capture_default_str();
  program.add_option("--data", options.data, "Folder of MNIST's four files")->capture_default_str();
  program.add_option("--output", options.output, "Folder for what the run leaves")->capture_default_str();
  program.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber)->capture_default_str();
  program.add_option("--batch", options.batch, "Samples a step, of each rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  program.add_option("--steps", options.steps, "Steps an epoch; 0 for all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  program.add_option("--lr", options.lr, "Learning rate of one rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  program.add_option("--warmup", options.warmup, "Epochs until the learning rate is that of all ranks")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  program.add_option("--reduction", options.reduction, "Of gradients: average or adasum")
      ->check(CLI::IsMember({"average", "adasum"}))
      ->capture_default_str();
  program.add_flag("--fp16", options.fp16, "Send gradients as 16-bit floats");
  program.add_option("--seed", options.seed)->capture_default_str();
  if (const auto done = lockstep::parse_command_line(program, argc, argv)) return *done;

  hvd::init({.backend = options.backend});
  if (static_cast<std::int64_t>(options.batch) * hvd::size() > 60000) {
    throw lockstep::UsageError({.message = "a step would need more samples than MNIST has",
                                .found = fmt::format("--batch {} on {} ranks", options.batch, hvd::size())});
  }
  train(options);
  hvd::shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}
