// Pictures made up, to measure what follows without reading anything.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/data/picture.h>

namespace lockstep::data {

struct SyntheticOptions {
  std::int64_t count = 50'000;
  int width = 224, height = 224, channels = 3;
  int classes = 1000;
  std::uint64_t seed = 0;
};

// Each label is random, a function of (seed, index). So are the pixels, but of few pictures: as many as fill 16 MiB, 64
// at most and one at least, come again and again, so that `get` costs nothing and a set of any size fits in memory.
class SyntheticPictures final : public PictureSet {
 public:
  // Throws UsageError for a shape, a count or a number of classes that makes no sense: a picture has at most 1 GiB.
  explicit SyntheticPictures(const SyntheticOptions& options);

  std::int64_t size() const override { return options_.count; }
  Picture get(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  const std::vector<std::string>& classes() const override { return classes_; }

 private:
  const SyntheticOptions options_;
  std::vector<std::string> classes_;
  std::size_t picture_bytes_ = 0;
  std::int64_t ring_ = 0;  // pictures that differ
  std::vector<std::uint8_t> pixels_;
};

}  // namespace lockstep::data
