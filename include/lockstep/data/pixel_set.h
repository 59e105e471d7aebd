// Pictures of one size that lie in memory, all in one array.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/picture.h>

namespace lockstep::data {

struct PixelSetContent {
  // The file that picture `first` and those after it came from.
  struct Origin {
    std::string file;
    std::int64_t first = 0;
  };

  int width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> pixels;  // picture after picture: rows of height x width x channels bytes
  std::vector<std::int64_t> labels;
  std::vector<std::string> classes;
  std::vector<Origin> origins;  // in the order of their pictures, the first at 0
};

// What small pictures are best kept as: a picture is a view of the array, so `get` copies nothing. The views live as
// long as the set.
class PixelSet final : public PictureSet {
 public:
  // Throws UsageError when pixels, labels and classes do not fit each other.
  explicit PixelSet(PixelSetContent content);

  std::int64_t size() const override { return static_cast<std::int64_t>(content_.labels.size()); }
  Picture get(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  const std::vector<std::string>& classes() const override { return content_.classes; }

  int width() const { return content_.width; }
  int height() const { return content_.height; }
  int channels() const { return content_.channels; }

  // All of it, for those who copy the whole set to a device.
  std::span<const std::uint8_t> pixels() const { return content_.pixels; }
  std::span<const std::int64_t> labels() const { return content_.labels; }

 private:
  PixelSetContent content_;
  std::size_t picture_bytes_ = 0;
};

}  // namespace lockstep::data
