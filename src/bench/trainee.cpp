#include "trainee.h"

#include <utility>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/bench/loader.h>
#include <lockstep/data/loader.h>
#include <lockstep/data/open_pictures.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/data_parallel.h>
#include <lockstep/parallel/distributed_data_parallel.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/sync.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

namespace lockstep::bench {
namespace {

constexpr double kLearningRate = 0.01, kMomentum = 0.9;

// Of parameters or of groups of them.
std::unique_ptr<torch::optim::Optimizer> make_sgd(const auto& parameters) {
  return std::make_unique<optim::Sgd>(parameters, torch::optim::SGDOptions(kLearningRate).momentum(kMomentum));
}

// Pictures as the model takes them.
data::Transforms transforms_for(const std::vector<std::int64_t>& shape) {
  const int side = static_cast<int>(shape[1]);
  constexpr int kSmall = 64;
  if (shape[0] == 1) return {data::grayscale(), data::resize(data::ImageSize{side, side}), data::normalize({})};
  return make_transforms(side <= kSmall ? Augmentation::kCifarTrain : Augmentation::kImageNetTrain, side);
}

std::unique_ptr<data::Loader> open_batches(const StepOptions& options, const Group& group,
                                           const std::vector<std::int64_t>& shape, std::int64_t classes) {
  if (shape.size() != 3 || (shape[0] != 1 && shape[0] != 3)) {
    throw UsageError(fmt::format("the model '{}' does not take pictures", options.model));
  }
  const std::shared_ptr<const data::PictureSet> pictures = data::open_pictures(options.pictures);
  if (std::cmp_greater(pictures->classes().size(), classes)) {
    throw UsageError({.message = "the pictures have more classes than the model",
                      .found = std::to_string(pictures->classes().size()),
                      .expected = fmt::format("at most {}", classes),
                      .next = "give --classes"});
  }
  data::DistributedSampler sampler(pictures->size(), {group.rank(), group.size()});
  return std::make_unique<data::Loader>(
      pictures, data::Pipeline(transforms_for(shape)), std::move(sampler),
      data::LoaderOptions{.batch_size = options.batch, .workers = options.workers, .device = options.device});
}

// The model, its batch and its optimizer; what is left open is who makes ranks agree.
class Base : public Trainee {
 public:
  Base(const StepOptions& options, const Group& group) {
    torch::manual_seed(0);
    model_ = nn::make_model(options.model, options.model_options);
    model_->to(options.device);
    std::vector<std::int64_t> shape = model_->input_shape();
    shape.insert(shape.begin(), options.batch);
    if (!options.pictures.empty()) {
      batches_ = open_batches(options, group, {shape.begin() + 1, shape.end()}, model_->num_classes());
    }
    input_ = at::randn(shape, options.device);
    labels_ = at::randint(model_->num_classes(), {options.batch}, at::TensorOptions(at::kLong).device(options.device));
    if (options.channels_last && input_.dim() == 4) {
      input_ = input_.contiguous(at::MemoryFormat::ChannelsLast);
      for (const at::Tensor& parameter : model_->parameters()) {
        if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
    optimizer_ = make_sgd(model_->parameters());
  }

  void step() override {
    if (batches_) load();
    zero_grad();
    at::cross_entropy_loss(forward(), labels_).backward();
    update();
  }

  Seconds waited() const override { return batches_ ? batches_->stats().waiting : Seconds{}; }

 protected:
  virtual at::Tensor forward() { return model_->forward(input_); }
  virtual void zero_grad() { optimizer_->zero_grad(); }
  virtual void update() { optimizer_->step(); }

  std::shared_ptr<nn::Model> model_;
  at::Tensor input_, labels_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;

 private:
  // The next batch, epoch after epoch.
  void load() {
    auto batch = batches_->next();
    if (!batch) {
      batches_->set_epoch(batches_->state().epoch + 1);
      batch = batches_->next();
    }
    input_ = std::move(batch->data);
    labels_ = std::move(batch->target);
  }

  std::unique_ptr<data::Loader> batches_;
};

class Sync : public Base {
 public:
  Sync(const StepOptions& options, const Group& group) : Base(options, group), group_(group), state_(state_of(model_)) {
    sync_parameters(state_, group_);
  }

 protected:
  void update() override {
    sync_gradients(state_, group_);
    Base::update();
  }

 private:
  Group group_;
  ModuleState state_;
};

class Ddp : public Base {
 public:
  Ddp(const StepOptions& options, const Group& group) : Base(options, group), ddp_(model_, group) {}
  std::optional<double> hidden() const override {
    const auto stats = ddp_.stats();
    return stats.communication.count() > 0 ? std::optional(stats.hidden()) : std::nullopt;
  }
  Seconds exposed() const override { return ddp_.stats().exposed; }

 protected:
  at::Tensor forward() override { return ddp_.forward(input_); }

 private:
  DistributedDataParallel<std::shared_ptr<nn::Model>> ddp_;
};

class Zero : public Ddp {
 public:
  Zero(const StepOptions& options, const Group& group) : Ddp(options, group) {
    const auto make = [](const ZeroRedundancyOptimizer::Groups& share) { return make_sgd(share); };
    optimizer_ = std::make_unique<ZeroRedundancyOptimizer>(model_->named_parameters(), make, group);
  }
};

class ByOptimizer : public Base {
 public:
  ByOptimizer(const StepOptions& options, const Group& group)
      : Base(options, group), distributed_(*optimizer_, model_->named_parameters(), group) {
    sync_parameters(model_, group);
  }

 protected:
  void zero_grad() override { distributed_.zero_grad(); }
  void update() override { distributed_.step(); }

 private:
  DistributedOptimizer distributed_;
};

// Every GPU, the given one first; of CPUs there is one.
std::vector<at::Device> devices_like(const at::Device& first) {
  std::vector<at::Device> devices{first};
  if (!first.is_cuda()) return devices;
  for (at::DeviceIndex i = 0; std::cmp_less(i, torch::cuda::device_count()); ++i) {
    if (i != first.index()) devices.emplace_back(first.type(), i);
  }
  return devices;
}

class SeveralDevices : public Base {
 public:
  SeveralDevices(const StepOptions& options, const Group& group)
      : Base(options, group), parallel_(model_, devices_like(options.device)) {}

 protected:
  at::Tensor forward() override { return parallel_.forward(input_); }

 private:
  DataParallel parallel_;
};

}  // namespace

std::unique_ptr<Trainee> make_trainee(Mode mode, const Group& group, const StepOptions& options) {
  switch (mode) {
    case Mode::kDdp:
      return std::make_unique<Ddp>(options, group);
    case Mode::kSync:
      return std::make_unique<Sync>(options, group);
    case Mode::kDataParallel:
      if (group.size() > 1) {
        throw UsageError({.message = "data-parallel is one process with several devices",
                          .found = std::to_string(group.size()) + " ranks",
                          .next = "leave out -n, or take --mode ddp"});
      }
      return std::make_unique<SeveralDevices>(options, group);
    case Mode::kOptimizer:
      return std::make_unique<ByOptimizer>(options, group);
    case Mode::kZero:
      return std::make_unique<Zero>(options, group);
    case Mode::kNone:
      return std::make_unique<Base>(options, group);
  }
  throw UsageError("no such mode");
}

}  // namespace lockstep::bench
