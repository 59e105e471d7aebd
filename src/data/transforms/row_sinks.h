// Where the rows of a picture end up: in a slot of a batch, or in another picture.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <lockstep/data/operation.h>
#include <lockstep/data/transform.h>

#include "render.h"

namespace lockstep::data {

// value * scale + bias for each channel, in the form that the kernel takes.
struct Factors {
  Factors(const std::optional<Normalization>& normalization, int channels);

  std::array<float, kFactorPeriod> scale{}, bias{};
};

class FloatSink : public RowSink {
 public:
  FloatSink(std::span<float> slot, std::size_t row_numbers, const Factors& factors, const PixelKernels& kernels)
      : slot_(slot), row_numbers_(row_numbers), factors_(factors), kernels_(kernels) {}

  void put(int y, const std::uint8_t* row) override {
    kernels_.to_floats(slot_.data() + static_cast<std::size_t>(y) * row_numbers_, row, row_numbers_,
                       factors_.scale.data(), factors_.bias.data());
  }

 private:
  const std::span<float> slot_;
  const std::size_t row_numbers_;
  const Factors& factors_;
  const PixelKernels& kernels_;
};

class ByteSink : public RowSink {
 public:
  ByteSink(std::span<std::uint8_t> slot, std::size_t row_bytes) : slot_(slot), row_bytes_(row_bytes) {}

  void put(int y, const std::uint8_t* row) override {
    std::copy_n(row, row_bytes_, slot_.data() + static_cast<std::size_t>(y) * row_bytes_);
  }

 private:
  const std::span<std::uint8_t> slot_;
  const std::size_t row_bytes_;
};

// Overwrites a part of a picture of floats.
void erase(std::span<float> slot, ImageSize size, int channels, const Erase& erase);

}  // namespace lockstep::data
