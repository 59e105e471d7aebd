// Which samples a rank takes, and in which order. The order of all samples is a function of (seed, epoch) alone; ranks
// share it out. So 1, 2 and 8 ranks with one global batch see the same samples in each step, and a run that goes on at
// another number of ranks neither loses nor repeats one.
#pragma once
#include <cstdint>
#include <vector>

#include <lockstep/base/rank.h>

namespace lockstep::data {

enum class Order { kShuffled, kSequential, kWeighted };

// What becomes of the last samples of an epoch, which are fewer than a batch for every rank.
enum class Tail {
  kPad,     // samples from the beginning of the order fill the batches up
  kDrop,    // they are left out
  kUneven,  // they are divided; some ranks have one sample less than others, or none at all
};

struct SamplerOptions {
  Order order = Order::kShuffled;
  Tail tail = Tail::kPad;
  std::uint64_t seed = 0;
  // For kWeighted: how often each sample is drawn, in proportion, with replacement. An epoch has as many draws as there
  // are samples.
  std::vector<double> weights;
};

// Where a run stands, for its checkpoint.
struct SamplerState {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // samples of the epoch that all ranks together have taken

  bool operator==(const SamplerState&) const = default;
};

class DistributedSampler {
 public:
  // For a data set of `size` samples. Throws UsageError when that is none, or when weights do not fit it. It takes 8
  // bytes of memory for each sample, unless the order is kSequential.
  DistributedSampler(std::int64_t size, RankId rank, SamplerOptions options = {});

  // Begins an epoch. All ranks must begin the same.
  void set_epoch(std::int64_t epoch);

  // This rank's samples of the next step, in which every rank takes `count`; at the tail perhaps fewer. Empty at the
  // end of the epoch; with kUneven also for a rank that has no part in the last step, so ask `at_end` there.
  std::vector<std::int64_t> next(std::int64_t count);

  // Whether all samples of the epoch are taken that are to be taken in steps of `count` a rank.
  bool at_end(std::int64_t count) const;

  // Steps in a whole epoch.
  std::int64_t steps(std::int64_t count) const;

  // Throws UsageError when the sampler was made for another number of samples.
  void require_size(std::int64_t size) const;

  SamplerState state() const { return {.seed = options_.seed, .epoch = epoch_, .position = position_}; }

  // Goes on where another sampler over the same data stood, whatever its number of ranks was. Throws UsageError when
  // the position is beyond the data.
  void restore(const SamplerState& state);

 private:
  void make_order();
  std::int64_t at(std::int64_t position) const;

  const std::int64_t size_;
  const RankId rank_;
  SamplerOptions options_;
  std::vector<std::int64_t> order_;  // empty: the samples as they are
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace lockstep::data
