// Everything about a small run for TensorBoard: curves, weights, pictures, the graph, precision, and hyperparameters.
//
//   summary_writer runs/digits [STEPS] && tensorboard --logdir runs
#include <fmt/format.h>
#include <torch/torch.h>

#include <lockstep/lockstep.h>

namespace {

namespace ls = lockstep;
using ls::tensorboard::SummaryWriter;

constexpr int kBatch = 32, kTested = 1000;
constexpr double kRate = 0.05;

at::Tensor scores_of(ls::nn::Model& model, const ls::data::Mnist& digits, std::int64_t count) {
  const at::NoGradGuard no_gradients;
  return model.forward(digits.normalized(torch::arange(count)));
}

double accuracy(const at::Tensor& scores, const at::Tensor& labels) {
  return scores.argmax(1).eq(labels.slice(0, 0, scores.size(0))).to(torch::kFloat).mean().item<double>();
}

void write_weights(SummaryWriter& writer, const ls::nn::Model& model, int step) {
  for (const auto& item : model.named_parameters()) writer.add_histogram("weights/" + item.key(), item.value(), step);
}

int body(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/digits";
  const int steps = argc > 2 ? std::stoi(argv[2]) : 200;
  torch::manual_seed(1);
  const auto train = ls::data::read_mnist(ls::data::default_mnist_folder(), ls::data::Split::kTrain);
  const auto test = ls::data::read_mnist(ls::data::default_mnist_folder(), ls::data::Split::kTest);
  const auto model = ls::nn::make_model("mnist");
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(kRate).momentum(0.9));

  SummaryWriter writer(folder);
  writer.add_text("about", fmt::format("A small net on **MNIST**, {} steps of {} digits.", steps, kBatch));
  writer.add_graph(*model, train.normalized(torch::arange(1)));
  writer.add_images("digits", train.images.slice(0, 0, 32));
  for (int step = 0; step < steps; ++step) {
    const at::Tensor indices = torch::randint(train.size(), {kBatch});
    const at::Tensor scores = model->forward(train.normalized(indices)), labels = train.labels.index_select(0, indices);
    const at::Tensor loss = torch::nn::functional::cross_entropy(scores, labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    writer.add_scalar("train/loss", loss.item<double>(), step);
    if (step % 20 == 0) {
      write_weights(writer, *model, step);
      writer.add_scalars("accuracy",
                         {{"train", accuracy(scores_of(*model, train, 200), train.labels)},
                          {"test", accuracy(scores_of(*model, test, 200), test.labels)}},
                         step);
    }
  }
  const at::Tensor scores = scores_of(*model, test, kTested);
  const double top1 = accuracy(scores, test.labels);
  writer.add_pr_curve("is it a 7", test.labels.slice(0, 0, kTested).eq(7), scores.softmax(1).select(1, 7), steps);
  writer.add_hparams({{"rate", kRate}, {"batch", kBatch}}, {{"final/top1", top1}}, steps, {.run_name = "result"});
  writer.close();
  fmt::print("{:.1f}% of {} digits; see them with: tensorboard --logdir {}\n", 100 * top1, kTested, folder);
  return ls::kExitSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
