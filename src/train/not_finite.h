#pragma once
#include <cstdint>
#include <optional>

#include <lockstep/comm/group.h>
#include <lockstep/nn/model.h>

namespace lockstep::train {

// Collective, when the loss of some rank is NaN or infinite. Throws RuntimeError with the step, the ranks, and on the
// first of these a tensor that is not finite: a parameter, a buffer or a gradient.
[[noreturn]] void report_not_finite(const nn::Model& model, double loss, std::int64_t step,
                                    std::optional<double> loss_scale, const Group& group);

}  // namespace lockstep::train
