// Where the sums for the weights of a window of 3 x 3 places go: those of 64 outputs, 64 inputs and one of its rows are
// a pair of add_up().
#pragma once
#include "partial_sums.cuh"

namespace lockstep::kernels::cuda {

constexpr int kSumWindow = 3;

struct WindowResults {
  static constexpr int kColumns = kSumWindow * kWindowChannels;  // of a product
  static constexpr int kRegisters = kColumns / 2;
  // [output][place of the window][input]; `size` are the channels. A pair is one of outputs, inputs and window rows.
  __device__ static int index(const PartialSums& work, int pair, int row, int column) {
    const int of_inputs = work.size / kWindowChannels, window_row = pair % kSumWindow, block = pair / kSumWindow;
    const int output = block / of_inputs * kWindowChannels + row;
    const int input = block % of_inputs * kWindowChannels + column % kWindowChannels;
    const int tap = window_row * kSumWindow + column / kWindowChannels;
    return (output * kSumWindow * kSumWindow + tap) * work.size + input;
  }
};

}  // namespace lockstep::kernels::cuda
