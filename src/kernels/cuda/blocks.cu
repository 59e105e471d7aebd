// Pictures, weights and their gradients as blocks.
#include "launch.cuh"
#include "vector.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;
constexpr int kNoRow = 1 << 14;  // not in any picture

// What channel `number` of a block holds.
struct InBlock {
  __device__ InBlock(const BlockShape& shape, int number)
      : input(number % shape.inputs),
        column(number / shape.inputs % shape.block[1]),
        row(number / shape.inputs / shape.block[1]) {}  // not below block[0]: zeros
  int input, column, row;
};

// Where the values of a block lie in a picture, from its first one: found once for many blocks.
struct Table {
  int offset[kMostBlockChannels];
  short row[kMostBlockChannels], column[kMostBlockChannels];  // a row of many: zeros
};

// A thread has one vector of a block: blockIdx.y is the sample.
template <typename T, typename X>
__global__ void __launch_bounds__(kBlockThreads) blocks_kernel(const __grid_constant__ BlockShape shape, T* blocks,
                                                               const X* x, const __grid_constant__ Strides strides) {
  __shared__ Table table;
  for (int i = static_cast<int>(threadIdx.x); i < shape.channels; i += kBlockThreads) {
    const InBlock in(shape, i);
    table.offset[i] = static_cast<int>(in.input * strides.of[1] + in.row * strides.of[2] + in.column * strides.of[3]);
    table.row[i] = static_cast<short>(in.row < shape.block[0] ? in.row : kNoRow);
    table.column[i] = static_cast<short>(in.column);
  }
  __syncthreads();
  const int vectors = shape.channels / kWidth<T>, columns = shape.blocks[1];
  const int number = static_cast<int>(blockIdx.x * kBlockThreads + threadIdx.x);
  const int place = number / vectors, first = number % vectors * kWidth<T>;
  const int row = place / columns, column = place % columns, sample = static_cast<int>(blockIdx.y);
  if (row >= shape.blocks[0]) return;
  const int top = row * shape.stride[0] - shape.padding[0], left = column * shape.stride[1] - shape.padding[1];
  const X* const corner = x + sample * strides.of[0] + top * strides.of[2] + left * strides.of[3];
  float values[kWidth<T>];
#pragma unroll
  for (int e = 0; e < kWidth<T>; ++e) {
    const auto y = static_cast<unsigned>(top + table.row[first + e]);
    const auto z = static_cast<unsigned>(left + table.column[first + e]);
    const bool there = y < static_cast<unsigned>(shape.in[0]) && z < static_cast<unsigned>(shape.in[1]);
    values[e] = there ? to_float(corner[table.offset[first + e]]) : 0;
  }
  const std::int64_t block = static_cast<std::int64_t>(sample) * shape.blocks[0] * columns + place;
  *reinterpret_cast<uint4*>(blocks + block * shape.channels + first) = pack<T>(values);
}

// A thread has one value of the weights of blocks, [output][row][column][channel].
template <typename T, typename W>
__global__ void __launch_bounds__(kBlockThreads)
    weights_kernel(const __grid_constant__ BlockShape shape, T* blocks, const W* weight,
                   const __grid_constant__ Strides strides) {
  const int number = static_cast<int>(blockIdx.x * kBlockThreads + threadIdx.x);
  int rest = number;
  const InBlock in(shape, rest % shape.channels);
  rest /= shape.channels;
  const int column = rest % shape.windows[1] * shape.block[1] + in.column;
  rest /= shape.windows[1];
  const int row = rest % shape.windows[0] * shape.block[0] + in.row, output = rest / shape.windows[0];
  if (output >= shape.outputs) return;
  const bool there = in.row < shape.block[0] && row < shape.window[0] && column < shape.window[1];
  blocks[number] = from_float<T>(there ? to_float(weight[output * strides.of[0] + in.input * strides.of[1] +
                                                         row * strides.of[2] + column * strides.of[3]])
                                       : 0);
}

// A thread has one value of the weights, [output][input][row][column].
template <typename T, typename G>
__global__ void __launch_bounds__(kBlockThreads)
    weights_gradient_kernel(const __grid_constant__ BlockShape shape, G* gradient,
                            const __grid_constant__ Strides strides, const T* blocks) {
  int rest = static_cast<int>(blockIdx.x * kBlockThreads + threadIdx.x);
  const int column = rest % shape.window[1];
  rest /= shape.window[1];
  const int row = rest % shape.window[0];
  rest /= shape.window[0];
  const int input = rest % shape.inputs, output = rest / shape.inputs;
  if (output >= shape.outputs) return;
  const int channel = (row % shape.block[0] * shape.block[1] + column % shape.block[1]) * shape.inputs + input;
  const int window = (output * shape.windows[0] + row / shape.block[0]) * shape.windows[1] + column / shape.block[1];
  gradient[output * strides.of[0] + input * strides.of[1] + row * strides.of[2] + column * strides.of[3]] =
      from_float<G>(to_float(blocks[window * shape.channels + channel]));
}

unsigned blocks_for(int threads) {
  return static_cast<unsigned>((threads + kBlockThreads - 1) / kBlockThreads);
}

}  // namespace

cudaError_t launch_gather_blocks(const BlockShape& shape, void* blocks, const void* x, Number x_type,
                                 const Strides& x_strides, cudaStream_t stream) {
  const int vectors = shape.blocks[0] * shape.blocks[1] * (shape.channels / vector_width(shape.type));
  const dim3 grid(blocks_for(vectors), static_cast<unsigned>(shape.samples));
  return by_type(shape.type, [&](auto type) {
    return by_type(x_type, [&](auto given) {
      blocks_kernel<<<grid, kBlockThreads, 0, stream>>>(shape, static_cast<decltype(type)*>(blocks),
                                                        static_cast<const decltype(given)*>(x), x_strides);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_gather_weights(const BlockShape& shape, void* blocks, const void* weight, Number weight_type,
                                  const Strides& strides, cudaStream_t stream) {
  const unsigned grid = blocks_for(shape.outputs * shape.windows[0] * shape.windows[1] * shape.channels);
  return by_type(shape.type, [&](auto type) {
    return by_type(weight_type, [&](auto given) {
      weights_kernel<<<grid, kBlockThreads, 0, stream>>>(shape, static_cast<decltype(type)*>(blocks),
                                                         static_cast<const decltype(given)*>(weight), strides);
      return cudaGetLastError();
    });
  });
}

cudaError_t launch_weights_gradient(const BlockShape& shape, void* gradient, Number gradient_type,
                                    const Strides& strides, const void* blocks_gradient, cudaStream_t stream) {
  const unsigned grid = blocks_for(shape.outputs * shape.inputs * shape.window[0] * shape.window[1]);
  return by_type(shape.type, [&](auto type) {
    return by_type(gradient_type, [&](auto wanted) {
      weights_gradient_kernel<<<grid, kBlockThreads, 0, stream>>>(shape, static_cast<decltype(wanted)*>(gradient),
                                                                  strides,
                                                                  static_cast<const decltype(type)*>(blocks_gradient));
      return cudaGetLastError();
    });
  });
}

}  // namespace lockstep::kernels::cuda
