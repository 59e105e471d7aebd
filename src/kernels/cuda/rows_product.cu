// Rows times weights. These products have few inputs or few outputs: what bounds them is the memory, and each value
// passes through it once.
#include "launch.cuh"
#include "matrix_map.h"
#include "product_team.cuh"

namespace lockstep::kernels::cuda {
namespace {

template <int kOutputs, Then kThen, Adds kAdds>
__global__ void __launch_bounds__(kTeams* kTeamThreads, 1) product_kernel(const __grid_constant__ TeamWork work) {
  extern __shared__ __align__(1024) uint4 shared[];
  Team<kOutputs, kThen, kAdds>(work, shared).run();
}

template <int kOutputs>
std::int64_t shared_bytes(const RowsProduct& product, const TeamPlan& plan) {
  const int weights = kOutputs * kSwizzledBytes;
  const std::int64_t steps = (product.terms[0].inputs + product.terms[1].inputs) / kTileInputs;
  const int stage = kPieceBytes + (plan.keeps_weights ? 0 : weights);
  return (plan.keeps_weights ? steps * weights : 0) + kTeams * (plan.stages * stage + plan.pieces * kPieceBytes) +
         kBarrierBytes;
}

template <int kOutputs>
TeamPlan plan_of(const RowsProduct& product, bool adds, const Device& device) {
  TeamPlan plan{};
  for (const bool keeps : {true, false}) {
    if (keeps && product.outputs / kOutputs > device.multiprocessors) continue;
    for (int stages = kMostStages; stages >= 2; --stages) {
      plan = {keeps, stages, adds ? kMostPieces : keeps ? 2 : 1};
      if (shared_bytes<kOutputs>(product, plan) <= device.shared_bytes) return plan;
    }
  }
  return plan;
}

template <int kOutputs>
cudaError_t map_all(TeamWork& work) {
  const RowsProduct& product = work.product;
  for (int i = 0; i < 2; ++i) {
    const RowsProduct::Term& term = product.terms[i];
    if (term.inputs == 0) continue;
    cudaError_t status = map_matrix(work.x[i], term.x, product.rows, term.inputs, kTileRows);
    if (status != cudaSuccess) return status;
    status = RowsProduct::is_output_major(product.then)
                 ? map_matrix(work.weight[i], term.weight, product.outputs, term.inputs, kOutputs)
                 : map_matrix(work.weight[i], term.weight, term.inputs, product.outputs, kTileInputs);
    if (status != cudaSuccess) return status;
  }
  if (product.add != nullptr && product.places.stride.divisor == 1) {
    const cudaError_t status = map_matrix(work.add, product.add, product.rows, product.outputs, kTileRows);
    if (status != cudaSuccess) return status;
  }
  return map_matrix(work.y, product.y, product.rows, product.outputs, kTileRows);
}

template <int kOutputs, Then kThen, Adds kAdds>
cudaError_t launch_blocks(const RowsProduct& product, const Launch& launch) {
  TeamWork work{};
  work.product = product;
  work.columns = Divider(product.outputs / kOutputs);
  work.plan = plan_of<kOutputs>(product, kAdds == Adds::kAll, launch.device);
  if (const cudaError_t status = map_all<kOutputs>(work); status != cudaSuccess) return status;
  // Where weights are kept, as many blocks for each column.
  const std::int64_t columns = product.outputs / kOutputs, group = work.plan.keeps_weights ? columns : 1;
  const std::int64_t tiles = product_tiles(product.rows) * columns / group;
  const std::int64_t blocks = (tiles + kTeams - 1) / kTeams, room = launch.device.multiprocessors / group;
  return start(
      product_kernel<kOutputs, kThen, kAdds>,
      {(blocks < room ? blocks : room) * group, kTeams * kTeamThreads, shared_bytes<kOutputs>(product, work.plan)},
      launch, work);
}

template <int kOutputs>
cudaError_t launch_tiles(const RowsProduct& work, const Launch& launch) {
  const bool adds = work.add != nullptr, few = work.places.stride.divisor > 1;
  switch (work.then) {
    case Then::kNothing:
      return adds ? cudaErrorNotSupported : launch_blocks<kOutputs, Then::kNothing, Adds::kNothing>(work, launch);
    case Then::kBias:
      return adds ? launch_blocks<kOutputs, Then::kBias, Adds::kAll>(work, launch)
                  : launch_blocks<kOutputs, Then::kBias, Adds::kNothing>(work, launch);
    case Then::kRelu:
      return adds ? launch_blocks<kOutputs, Then::kRelu, Adds::kAll>(work, launch)
                  : launch_blocks<kOutputs, Then::kRelu, Adds::kNothing>(work, launch);
    case Then::kPass:
      if (!adds) return cudaErrorNotSupported;
      return few ? launch_blocks<kOutputs, Then::kPass, Adds::kFew>(work, launch)
                 : launch_blocks<kOutputs, Then::kPass, Adds::kAll>(work, launch);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_rows_product(const RowsProduct& work, const Launch& launch) {
  constexpr int kWide = 128;
  return work.outputs % kWide == 0 ? launch_tiles<kWide>(work, launch) : launch_tiles<kProductMultiple>(work, launch);
}

}  // namespace lockstep::kernels::cuda
