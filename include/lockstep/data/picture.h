// Pictures with labels, as their source holds them: not yet decoded, so that a crop can be decided on before the first
// pixel is made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/base/errors.h>

namespace lockstep::data {

struct Picture {
  enum class Form {
    kEncoded,  // a JPEG or PNG file's bytes
    kPixels,   // rows of height x width x channels bytes, red first
  };

  Form form = Form::kEncoded;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;        // keeps `bytes` where they are; empty when the set itself does
  int width = 0, height = 0, channels = 0;  // of kPixels
  std::int64_t label = 0;
};

// A sample that cannot be used: a file that is gone, truncated, or no picture. What a PictureSet throws names the
// sample; what decode() throws does not know it.
class SampleError : public UsageError {
 public:
  using UsageError::UsageError;

  // The same, with the name of the sample that it is about before the message.
  SampleError of(const std::string& name) const {
    ErrorParts named = parts();
    named.message = name + ": " + named.message;
    return SampleError(std::move(named));
  }
};

// A set of them. Every function may be called from many threads at once.
class PictureSet {
 public:
  virtual ~PictureSet() = default;

  virtual std::int64_t size() const = 0;

  // Throws SampleError when this one sample is bad, another error when the whole set is.
  virtual Picture get(std::int64_t index) const = 0;

  // Where a person finds the sample: "train/cat/0012.jpg", "data_batch_1.bin, image 17".
  virtual std::string name(std::int64_t index) const = 0;

  // The names of the classes; labels are places in it.
  virtual const std::vector<std::string>& classes() const = 0;
};

}  // namespace lockstep::data
