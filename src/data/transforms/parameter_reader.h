// Reads the parameters of one transform: what numbers and texts mean there.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <lockstep/base/parameters.h>
#include <lockstep/data/make_transform.h>

namespace lockstep::data {

class ParameterReader : public lockstep::ParameterReader {
 public:
  ParameterReader(std::string_view transform, const TransformParameters& parameters)
      : lockstep::ParameterReader("the transform " + std::string(transform), parameters) {}

  // Two numbers; or one, which stands for center - it and center + it, but not below `least`.
  std::optional<Range> range(const std::string& name, double center, double least);
  std::optional<Range> pair(const std::string& name);

  std::optional<ImageSize> size(const std::string& name);  // one number, or height and width
  ImageSize required_size(const std::string& name);
  Padding padding(const std::string& name);  // one number; left and top; or left, top, right and bottom
  Fill fill(const std::string& name);
  PadMode pad_mode(const std::string& name);
  Interpolation interpolation(const std::string& name);
};

}  // namespace lockstep::data
