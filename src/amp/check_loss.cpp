#include <lockstep/amp/check_loss.h>

#include <cmath>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::amp {
namespace {

[[noreturn]] void refuse(double loss, const std::vector<int>& ranks, RankId first, const LossCheck& check) {
  const std::string where = first.size > 1 ? " on " + format_ranks(ranks) : "";
  const std::string scale = check.scale ? fmt::format("; the last loss scale was {}", *check.scale) : "";
  throw RuntimeError({.message = fmt::format("the loss is {} at step {}{}{}", loss, check.step, where, scale),
                      .next = "start again from the last checkpoint with a lower learning rate, and look for values "
                              "in the input that are not finite",
                      .rank = first});
}

}  // namespace

void check_loss(double loss, const LossCheck& check) {
  if (!check.group) {
    if (!std::isfinite(loss)) refuse(loss, {check.rank.rank}, check.rank, check);
    return;
  }
  const Group& group = *check.group;
  const at::Tensor losses = at::empty({group.size()}, at::kDouble);
  group.all_gather_into(losses, at::full({1}, loss, at::kDouble));
  const auto* values = losses.const_data_ptr<double>();
  std::vector<int> ranks;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (!std::isfinite(values[rank])) ranks.push_back(rank);
  }
  if (!ranks.empty()) refuse(values[ranks.front()], ranks, {ranks.front(), group.size()}, check);
}

}  // namespace lockstep::amp
