#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::train {

// Of counts as Metrics::confusion has them: a square for each pair of classes, white for none of a class' samples and
// dark blue for all of them. 3 x pixels x pixels, uint8.
at::Tensor confusion_picture(const std::vector<std::int64_t>& counts);

// The same as a table in Markdown, with the names of the classes, or their numbers; nothing where there are too many
// classes to be read.
std::optional<std::string> confusion_table(const std::vector<std::int64_t>& counts,
                                           const std::vector<std::string>& classes);

}  // namespace lockstep::train
