// How many samples a second a loader gives when nobody computes with them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>

namespace lockstep::bench {

struct LoaderBenchOptions {
  data::Transforms transforms;
  std::int64_t batch = 50;  // of each rank
  int workers = 2;          // of each rank
  int prefetch = 2;
  int epochs = 3;
  std::int64_t max_samples = 0;  // of an epoch, on all ranks together; 0: all
};

struct LoaderReport {
  double samples_per_second = 0;   // of all ranks together, in the median epoch
  double least = 0, greatest = 0;  // of the epochs
  std::int64_t samples = 0;        // of an epoch
  std::int64_t peak_memory = 0;    // bytes of the process that had most
  std::vector<double> epochs;      // samples a second, in their order
};

// Collective. Every rank loads its part of the pictures, in a shuffled order, epoch after epoch.
LoaderReport measure_loader(const Group& group, std::shared_ptr<const data::PictureSet> pictures,
                            const LoaderBenchOptions& options);

}  // namespace lockstep::bench
