// What make_sources is made of.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/batch_source.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>
#include <lockstep/nn/model.h>
#include <lockstep/train/run_config.h>

namespace lockstep::train {

// The path of data that is made up, of whatever shape the model takes.
inline constexpr std::string_view kRandomNumbers = "synthetic";

// `count` pictures of a set, at even steps over it, so that all classes of one that is sorted by them are there; or all
// that it has when those are fewer or when `count` is 0.
std::shared_ptr<const data::PictureSet> some_pictures(std::shared_ptr<const data::PictureSet> pictures,
                                                      std::int64_t count);

struct RandomNumbers {
  std::int64_t count = 0;
  std::vector<std::int64_t> shape;  // of a sample
  std::int64_t classes = 0;
  std::uint64_t seed = 0;
  bool channels_last = true;  // of samples with three or four dimensions
};

// Batches of random numbers that lie on the device. Labels are a function of (seed, sample); of the samples only as
// many differ as fill 64 MiB, and come again and again.
std::unique_ptr<data::BatchSource> random_numbers(const RandomNumbers& numbers, data::DistributedSampler sampler,
                                                  std::int64_t batch_size, at::Device device);

// The same batches, laid out as plain torch has them.
std::unique_ptr<data::BatchSource> contiguous(std::unique_ptr<data::BatchSource> source);

// What is known of a set before its pictures are decoded.
struct PictureKind {
  data::ImageSize size;  // of the first; others may differ
  int channels = 0;      // 0: they are JPEG or PNG files, which are read in color or in gray as asked
};

// From the first picture that can be read; `tries` may be bad before it.
PictureKind kind_of(const data::PictureSet& pictures, std::int64_t tries);

struct ChosenTransforms {
  data::Transforms train, test;
};

// Those of the config; where it has none, what suits a model of that input shape (channels, height, width), with the
// normalization that the training pictures have. Throws UsageError, with the line of the config, for those that do not
// exist or stand in an order that makes no sense, and without any for pictures that are not as the model takes them.
ChosenTransforms choose_transforms(const DataKeys& keys, const std::vector<std::int64_t>& shape,
                                   const PictureKind& pictures);

// Each throws UsageError when it is not so. A model takes pictures when its input has 1 or 3 channels, a height and a
// width; it has classes enough, and with mixing exactly those of the data.
void require_pictures_taken(const nn::Model& model, const std::string& name);
void require_classes(const nn::Model& model, std::int64_t classes, bool mixing);

// The shape of what transforms make of pictures, which the model must take: that of its input, or another with as many
// channels that a copy of it does not refuse. `key` is what the transforms are called.
std::vector<std::int64_t> require_taken(const nn::Model& model, const data::Transforms& transforms,
                                        const PictureKind& pictures, const char* key);

}  // namespace lockstep::train
