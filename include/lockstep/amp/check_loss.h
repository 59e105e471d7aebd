#pragma once
#include <cstdint>
#include <optional>

#include <lockstep/comm/group.h>

namespace lockstep::amp {

struct LossCheck {
  std::int64_t step = 0;
  RankId rank = {};             // this process, where there is no group
  std::optional<double> scale;  // the last loss scale, if the loss is scaled
  std::optional<Group> group;   // makes it collective
};

// Throws RuntimeError if `loss`, as the model gave it and before it was scaled, is NaN or infinite. The error has the
// step, the rank and the last loss scale. For a loss that the host has read anyway, as for its log: reading it is what
// waits for the device.
//
// With a group every rank calls it, at the same steps, and if a rank's loss is not finite, all of them throw an error
// that names the ranks. It costs one small collective.
void check_loss(double loss, const LossCheck& check);

}  // namespace lockstep::amp
