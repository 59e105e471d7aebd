// Transforms from names and numbers, for configs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/parameters.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

using TransformParameters = Parameters;

// The names are torchvision's in snake_case ("random_resized_crop"), as are those of the parameters: size (one number,
// or height and width), scale, ratio, padding (1, 2 or 4 numbers), fill (1 or 3), padding_mode, p, degrees (one number
// is its range to both sides), interpolation ("nearest" or "bilinear"), brightness, contrast, saturation, hue,
// num_output_channels, mean, std, value ("random" is noise), policy ("imagenet", "cifar10", "svhn"), num_ops,
// magnitude, num_magnitude_bins. Throws UsageError for an unknown name ("did you mean"), and for values that make no
// sense.
TransformPtr make_transform(std::string_view name, const TransformParameters& parameters = {});

// All names, in the order of the alphabet.
const std::vector<std::string>& transform_names();

}  // namespace lockstep::data
