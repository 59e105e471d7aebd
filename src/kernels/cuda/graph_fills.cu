#include "graph_fills.h"

#include <cstdint>
#include <vector>

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

__global__ void __launch_bounds__(kBlockThreads) fill_kernel(unsigned* words, unsigned value, int count) {
  const int own = static_cast<int>(blockIdx.x) * kBlockThreads + static_cast<int>(threadIdx.x);
  if (own < count) words[own] = value;
}

bool are_words(const cudaMemsetParams& fill) {
  const std::size_t bytes = fill.width * fill.elementSize;
  return fill.height == 1 && bytes > 0 && bytes <= kMostBytes && bytes % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(fill.dst) % 4 == 0;
}

unsigned word_of(const cudaMemsetParams& fill) {
  switch (fill.elementSize) {
    case 1:
      return (fill.value & 0xffU) * 0x01010101U;
    case 2:
      return (fill.value & 0xffffU) * 0x00010001U;
    default:
      return fill.value;
  }
}

// A node's neighbours, by one of the two functions that tell them.
template <typename Tell>
cudaError_t neighbours(const Tell& tell, cudaGraphNode_t node, std::vector<cudaGraphNode_t>& found) {
  std::size_t count = 0;
  if (const cudaError_t status = tell(node, nullptr, nullptr, &count); status != cudaSuccess) return status;
  found.resize(count);
  std::vector<cudaGraphEdgeData> edges(count);
  return count == 0 ? cudaSuccess : tell(node, found.data(), edges.data(), &count);
}

cudaError_t replace(cudaGraph_t graph, cudaGraphNode_t node, const cudaMemsetParams& fill) {
  std::vector<cudaGraphNode_t> before, behind;
  cudaError_t status = neighbours(cudaGraphNodeGetDependencies, node, before);
  if (status == cudaSuccess) status = neighbours(cudaGraphNodeGetDependentNodes, node, behind);
  if (status != cudaSuccess) return status;
  auto* words = static_cast<unsigned*>(fill.dst);
  unsigned word = word_of(fill);
  int count = static_cast<int>(fill.width * fill.elementSize / 4);
  void* arguments[] = {&words, &word, &count};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(fill_kernel);
  kernel.gridDim = dim3(static_cast<unsigned>((count + kBlockThreads - 1) / kBlockThreads));
  kernel.blockDim = dim3(kBlockThreads);
  kernel.kernelParams = arguments;
  cudaGraphNode_t added = nullptr;
  status = cudaGraphAddKernelNode(&added, graph, before.data(), before.size(), &kernel);
  if (status != cudaSuccess) return status;
  const std::vector<cudaGraphNode_t> from(behind.size(), added);
  if (!behind.empty()) status = cudaGraphAddDependencies(graph, from.data(), behind.data(), nullptr, behind.size());
  return status == cudaSuccess ? cudaGraphDestroyNode(node) : status;
}

}  // namespace

cudaError_t fill_by_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  cudaError_t status = cudaGraphGetNodes(graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  if (status == cudaSuccess && count > 0) status = cudaGraphGetNodes(graph, nodes.data(), &count);
  for (std::size_t i = 0; i < count && status == cudaSuccess; ++i) {
    cudaGraphNodeType type{};
    cudaMemsetParams fill{};
    status = cudaGraphNodeGetType(nodes[i], &type);
    if (status != cudaSuccess || type != cudaGraphNodeTypeMemset) continue;
    status = cudaGraphMemsetNodeGetParams(nodes[i], &fill);
    if (status == cudaSuccess && are_words(fill)) status = replace(graph, nodes[i], fill);
  }
  return status;
}

}  // namespace lockstep::kernels::cuda
