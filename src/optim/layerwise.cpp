#include <lockstep/optim/layerwise.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "layerwise_update.h"

namespace lockstep::optim {
namespace {

// On a CPU the passes over a batch find it in the cache, if it is not larger than this; a GPU takes all at once, since
// there the number of launches counts.
constexpr std::int64_t kCachedValues = 1 << 18;

at::Tensor make_owners(const std::vector<std::int64_t>& rows, at::Device device) {
  std::int64_t total = 0;
  for (const std::int64_t count : rows) total += count;
  const at::Tensor owners = at::empty({total}, at::kLong);
  std::int64_t* next = owners.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) next = std::fill_n(next, rows[i], static_cast<std::int64_t>(i));
  return owners.to(device, /*non_blocking=*/true);
}

}  // namespace

void Layerwise::step_group(std::size_t index) {
  std::map<Kind, std::vector<at::Tensor>> batches;
  std::int64_t part = 0, values = 0;  // of the CPU's batches
  for (const at::Tensor& parameter : param_groups_[index].params()) {
    if (!parameter.grad().defined()) continue;
    if (!parameter.is_floating_point()) {
      throw UsageError({.message = "LARS and LAMB are for real parameters",
                        .found = fmt::format("one of type {}", c10::toString(parameter.scalar_type())),
                        .next = "give it to another optimizer"});
    }
    const auto device = parameter.device();
    if (device.is_cpu()) {
      if (values + parameter.numel() > kCachedValues) ++part, values = 0;
      values += parameter.numel();
    }
    const auto part_of_it = device.is_cpu() ? part : 0;
    batches[{index, device.type(), device.index(), parameter.scalar_type(), part_of_it}].push_back(parameter);
  }
  for (auto& [kind, parameters] : batches) {
    RowOwners& kept = row_owners_[kind];
    auto rows = LayerwiseUpdate::rows_of(parameters);
    if (!kept.owners.defined() || kept.rows != rows) {
      kept.owners = make_owners(rows, parameters.front().device());
      kept.rows = std::move(rows);
    }
    LayerwiseUpdate update(std::move(parameters), kept.owners, controls(), index);
    step_batch(index, update);
  }
}

}  // namespace lockstep::optim
