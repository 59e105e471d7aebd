// What a config says of data, as batches. First the data is opened, which tells how many classes a model needs; then,
// with the model, batches are made of it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/data/picture.h>
#include <lockstep/nn/model.h>
#include <lockstep/train/run_config.h>

namespace lockstep::train {

// The pictures that a config names. `data.path` is one of
//   - all that data::open_pictures takes;
//   - a folder with train/ and val/ or test/ in it, or with train.lsp and val.lsp or test.lsp;
//   - "mnist": the copy that comes with Lockstep, where nothing else has that name;
//   - "synthetic": random numbers of the shape that the model takes.
// What is tested with is `data.test_path`, or the other part of `data.path`, or nothing.
class OpenedData {
 public:
  // Collective. With `data.fetch`, what is not there is brought by rank 0 first. Throws UsageError for a path that is
  // missing or no data set, for test data whose classes are not those of the training data, and when ranks do not find
  // the same; on every rank, once one of them throws.
  OpenedData(const DataKeys& keys, const Group& group);

  // How many classes a model must have; 0: any number will do, because the data is made up.
  std::int64_t classes() const { return static_cast<std::int64_t>(class_names().size()); }
  const std::vector<std::string>& class_names() const;

  // As many as the config allows (data.samples); empty for data that is made up, and where there is none to test with.
  const std::shared_ptr<const data::PictureSet>& train() const { return train_; }
  const std::shared_ptr<const data::PictureSet>& test() const { return test_; }

 private:
  std::shared_ptr<const data::PictureSet> train_, test_;
};

struct Sources {
  std::unique_ptr<data::BatchSource> train;  // shuffled by the config's seed
  // Every sample exactly once over all ranks, in their order; perhaps empty batches at the end. Null without test data.
  std::unique_ptr<data::BatchSource> test;
  std::int64_t classes = 0;  // of the data; of the model for data that is made up
  std::vector<std::int64_t> sample_shape;
  std::vector<std::string> class_names;  // empty for data that is made up
  std::int64_t train_samples = 0, test_samples = 0;
};

// Batches on `device`, of `batch_per_rank` samples for training and config.evaluation.batch_size_per_rank for the test.
// Pictures are laid out as config.layout says. Reads the first picture, or all with a cache. `data` must live no longer
// than this call; the model is not changed. Collective: it throws on every rank, once one of them throws.
//
// Throws UsageError for transforms that do not exist or do not fit together, with their line in the config; for
// pictures that the model does not take or has not classes enough for; for fewer samples than one step takes, if the
// rest is dropped; and for bad pictures, as data::Loader does.
Sources make_sources(const RunConfig& config, const OpenedData& data, const nn::Model& model, const Group& group,
                     at::Device device, std::int64_t batch_per_rank);

}  // namespace lockstep::train
