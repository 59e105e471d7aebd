#include <lockstep/bench/loader.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/loader.h>

namespace lockstep::bench {
namespace {

const std::map<std::string, Augmentation>& augmentations() {
  static const std::map<std::string, Augmentation> names = {{"imagenet-train", Augmentation::kImageNetTrain},
                                                            {"imagenet-test", Augmentation::kImageNetTest},
                                                            {"cifar-train", Augmentation::kCifarTrain},
                                                            {"cifar-test", Augmentation::kCifarTest},
                                                            {"none", Augmentation::kNone}};
  return names;
}

const data::Normalization kImageNet = {.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
const data::Normalization kCifar = {.mean = {0.4914, 0.4822, 0.4465}, .deviation = {0.2470, 0.2435, 0.2616}};

std::int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

Augmentation parse_augmentation(const std::string& name) {
  const auto found = augmentations().find(name);
  if (found != augmentations().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : augmentations()) names.push_back(known);
  throw UsageError({.message = fmt::format("there is no augmentation '{}'{}", name, did_you_mean(name, names)),
                    .expected = format_some(names, names.size())});
}

data::Transforms make_transforms(Augmentation augmentation, int side) {
  const data::ImageSize size{.width = side, .height = side};
  const int padding = side / 8;  // 4 of CIFAR's 32
  switch (augmentation) {
    case Augmentation::kImageNetTrain:
      return {data::random_resized_crop({.size = size}), data::random_horizontal_flip(), data::normalize(kImageNet)};
    case Augmentation::kImageNetTest:
      return {data::resize(side * 8 / 7), data::center_crop(size), data::normalize(kImageNet)};
    case Augmentation::kCifarTrain:
      return {data::random_crop({.size = size, .padding = {padding, padding, padding, padding}}),
              data::random_horizontal_flip(), data::normalize(kCifar)};
    case Augmentation::kCifarTest:
      return {data::normalize(kCifar)};
    case Augmentation::kNone:
      break;
  }
  return {};
}

LoaderReport measure_loader(const Group& group, std::shared_ptr<const data::PictureSet> pictures,
                            const LoaderBenchOptions& options) {
  data::DistributedSampler sampler(pictures->size(), {group.rank(), group.size()}, {.tail = data::Tail::kUneven});
  data::Loader loader(std::move(pictures), data::Pipeline(options.transforms), std::move(sampler),
                      {.batch_size = options.batch, .workers = options.workers, .prefetch = options.prefetch});
  LoaderReport report;
  const std::int64_t share = (options.max_samples + group.size() - 1) / group.size();
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    loader.set_epoch(epoch);
    group.barrier();
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t samples = 0;
    while (share == 0 || samples < share) {
      const auto batch = loader.next();
      if (!batch) break;
      samples += batch->data.size(0);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    report.samples = group.all_reduce_value(samples, Reduce::kSum);
    report.epochs.push_back(static_cast<double>(report.samples) /
                            group.all_reduce_value(elapsed.count(), Reduce::kMax));
  }
  std::vector<double> sorted = report.epochs;
  std::sort(sorted.begin(), sorted.end());
  report.samples_per_second = sorted[sorted.size() / 2];
  report.least = sorted.front();
  report.greatest = sorted.back();
  report.peak_memory = group.all_reduce_value(peak_memory(), Reduce::kMax);
  return report;
}

}  // namespace lockstep::bench
