// The cells of an LSTM: what happens between its products.
#pragma once
#include <cstdint>

namespace lockstep::kernels {

// One sample at one step. Gates are in, forget, cell, out, each `hidden` apart from the next; cells come in sixteens.
struct LstmForward {
  float* gates = nullptr;       // their sums, but for the bias; becomes their activations
  const float* bias = nullptr;  // of all gates
  std::int64_t hidden = 0;
  const float* cell_before = nullptr;  // nullptr: zeros
  float* cell = nullptr;
  float* cell_tanh = nullptr;
  float* output = nullptr;
};

struct LstmBackward {
  const float* gates = nullptr;  // activations
  std::int64_t hidden = 0;
  const float* cell_before = nullptr;  // nullptr: zeros
  const float* cell_tanh = nullptr;
  const float* output_gradient = nullptr;  // of all that uses the output: the next layer, and the next step
  const float* next_gradient = nullptr;    // nullptr: there is no next step
  float* cell_gradient = nullptr;          // of the cell after this step; becomes that of the cell before it
  float* gate_gradients = nullptr;         // of the sums
};

// One level's, for cells from `first` on.
struct LstmCells {
  void (*forward)(const LstmForward& step, std::int64_t first, std::int64_t count);
  void (*backward)(const LstmBackward& step, std::int64_t first, std::int64_t count);
};

extern const LstmCells kLstmCellsAvx2, kLstmCellsAvx512;

// For this CPU; nullptr where it has not even AVX2.
const LstmCells* lstm_cells();

}  // namespace lockstep::kernels
