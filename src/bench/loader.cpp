#include <lockstep/bench/loader.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include <lockstep/data/loader.h>

namespace lockstep::bench {
namespace {

std::int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

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
