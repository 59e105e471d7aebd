// From a picture to the numbers of a batch.
#pragma once
#include <memory>
#include <optional>
#include <span>

#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

struct Factors;

// Transforms in their order. Crops, resizing and flips that follow each other are one pass over the pixels; when they
// come first, only the part of a JPEG that they keep is decoded, and no larger than they need it. Normalization is
// part of the last pass. Immutable: every thread may use one at once, each with a Scratch of its own.
class Pipeline {
 public:
  // A worker's own memory, which is kept from picture to picture: after the largest one no call takes any.
  class Scratch;

  // Throws UsageError for an order that makes no sense: pixels are changed before they are normalized, and
  // random_erasing comes after that.
  explicit Pipeline(Transforms transforms, DecodeLimits limits = {});

  // Of what comes out for a picture of that size.
  ImageSize output_size(ImageSize picture) const;

  // 1 when the transforms end with one gray channel, else 3: gray pictures become red, green and blue that are equal.
  int channels() const { return channels_; }

  // Writes height x width x channels numbers, rows of pixels, red first (channels-last). Each transform draws from its
  // own fork of `random`, so one more at the end changes nothing before it. The same picture and stream give the same
  // bits, whatever instructions the CPU has; only draws that go through libm's exp, log and cos depend on it too.
  // Throws SampleError for a picture that is bad or that a transform is not possible for, and UsageError when `slot` is
  // not as long as it must be.
  void run(const Picture& picture, RandomStream random, Scratch& scratch, std::span<float> slot) const;

  // The same in bytes, for batches that are normalized elsewhere. Throws UsageError when the pipeline has a
  // normalization or what follows it.
  void run(const Picture& picture, RandomStream random, Scratch& scratch, std::span<std::uint8_t> slot) const;

 private:
  template <typename Number>
  void run_to(const Picture& picture, RandomStream random, Scratch& scratch, std::span<Number> slot) const;

  Transforms transforms_;
  DecodeLimits limits_;
  std::optional<Normalization> normalization_;
  bool floats_ = false;  // whether something works on them
  int channels_ = 3;
  std::shared_ptr<const Factors> factors_;  // what bytes are multiplied by to become floats
};

class Pipeline::Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(Scratch&&) noexcept;
  Scratch& operator=(Scratch&&) noexcept;

 private:
  friend class Pipeline;
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace lockstep::data
