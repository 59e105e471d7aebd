// The kernels for GPUs, as plain memory and numbers. The plugin `cuda` has them; each runs on the current stream of the
// current device, waits for nothing, and can be recorded in a CUDA graph.
#pragma once
#include <cstdint>

#include "few_places.h"

namespace lockstep::kernels::cuda {

// Of a tensor's values. Parameters, statistics and all sums are floats.
enum class Number { kFloat, kBFloat16, kHalf };

// Rows of channels that lie side by side, one after the other. The channels are a multiple of vector_width(type), and
// all addresses of such rows are multiples of kVectorBytes.
struct Rows {
  Number type = Number::kFloat;
  std::int64_t rows = 0, channels = 0;
};

constexpr int kVectorBytes = 16;
constexpr int vector_width(Number type) {
  return type == Number::kFloat ? kVectorBytes / 4 : kVectorBytes / 2;
}

// What a forward pass keeps of each channel for its backward pass: five arrays of as many floats as there are channels.
// A value x becomes (x - center) * scale + offset.
struct KeptChannels {
  static constexpr int kArrays = 5;
  float *center, *scale, *offset;
  float* inverse;  // one over the deviation
  float* residue;  // center - mean
};
constexpr KeptChannels kept_channels(float* values, std::int64_t channels) {
  return {values, values + channels, values + 2 * channels, values + 3 * channels, values + 4 * channels};
}

// What is known of some of the values of a channel: one of them, their mean from there, the sum of squares round that
// mean, and how many there are.
struct alignas(16) KnownValues {
  float first, mean, squares, count;
};

// What is null is not there, or not wanted.
struct BatchNormForward {
  Rows shape;
  const void* x = nullptr;
  const void* shortcut = nullptr;  // added to what was normalized
  bool relu = false;               // after that
  const float *weight = nullptr, *bias = nullptr;
  const float* input_bias = nullptr;                      // added to the running mean: x has been given without it
  float *running_mean = nullptr, *running_var = nullptr;  // both or none; updated
  std::int64_t* batches = nullptr;                        // one more
  double momentum = 0, eps = 0;
  KeptChannels kept = {};
  void* y = nullptr;
  std::uint8_t* positive =
      nullptr;              // positive_bytes(shape) of them, for the backward pass: which results the ReLU let by
  float* y_sums = nullptr;  // sum_parts(shape) rows of as many floats as there are channels, whose sum is that of y
  // Where all values of x are known: `known_parts` rows, with one for each channel. Only for bfloat16.
  const KnownValues* known = nullptr;
  int known_parts = 0;
};

// By running statistics.
struct BatchNormApply {
  Rows shape;
  const void* x = nullptr;
  const void* shortcut = nullptr;
  bool relu = false;
  const float *weight = nullptr, *bias = nullptr;
  const float *running_mean = nullptr, *running_var = nullptr;
  double eps = 0;
  void* y = nullptr;
};

// Of some of the values of a channel: the sum of their gradients, and of the products of these with value - center.
struct GradientSums {
  float gradient, product;
};

// Any two of the large tensors may be the same memory, as a whole.
struct BatchNormBackward {
  Rows shape;
  const void* x = nullptr;
  const void* gradient = nullptr;         // of y
  const void* second_gradient = nullptr;  // added to it; then `masked` must be there
  FewPlaces second_places;                // where their stride is not 1, it has rows for the few places only
  bool relu = false;
  const std::uint8_t* positive = nullptr;  // from the forward pass, then `masked` must be there; else found from x
  KeptChannels kept = {};
  void* masked = nullptr;  // the gradient of what the ReLU was given, which is that of the shortcut
  void* x_gradient = nullptr;
  float *weight_gradient = nullptr, *bias_gradient = nullptr;
  // Where `gradient` is what the ReLU let by of all gradients, with sums that are known: `known_parts` rows, with one
  // for each channel. Then neither a second gradient, nor a ReLU, nor `masked`. Only for bfloat16.
  const GradientSums* known = nullptr;
  int known_parts = 0;
};

// Of depth, height and width; a picture is a volume of depth 1.
struct PoolShape {
  Number type = Number::kFloat;
  int samples = 0, channels = 0;
  int in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0};
};

// A rectifier before the maximum is taken. It keeps the order of values, so it is done to the maximum.
struct PoolAct {
  bool there = false;
  float slope = 0;  // below 0; 0 for ReLU
};

struct MaxPoolForward {
  PoolShape shape;
  PoolAct act;
  const void* x = nullptr;
  const float* bias = nullptr;  // of each channel, added before the act; to the maximum, whose place it does not change
  void* y = nullptr;
  std::uint8_t* places = nullptr;  // gets that of each maximum in its window, with 128 added where the act changes it
};

struct MaxPoolBackward {
  PoolShape shape;
  PoolAct act;
  const void* gradient = nullptr;  // of y
  const std::uint8_t* places = nullptr;
  void* x_gradient = nullptr;
  float* bias_gradient = nullptr;
};

// Adds a bias to each row, and a ReLU after it.
struct BiasAct {
  Rows shape;
  const float* bias = nullptr;
  bool relu = false;
  void* y = nullptr;  // of what the bias is added to, and of the result
};

// The sum of those gradients that get by an act.
struct BiasGradient {
  Rows shape;
  const void* gradient = nullptr;
  const void* second_gradient = nullptr;  // added to it; only beside `passed`
  const void* y = nullptr;                // the results, where the act was a ReLU
  const std::uint8_t* passed = nullptr;   // or a bit for each value, row by row
  const std::uint8_t* places = nullptr;   // or those of a max pooling with this act
  PoolAct act;
  void* masked = nullptr;  // gets the gradients that got by; may be the memory of `gradient`
  float* bias_gradient = nullptr;
};

// A convolution of pictures of few channels as one of more channels and fewer places, which tensor cores like better.
// The places of its window are taken together in blocks of block[0] rows and block[1] columns, whose values become
// channels; `channels` counts them with zeros behind, up to a multiple of a vector's width. Blocks begin at the first
// place of the first window, `stride` apart. A block is as high as the stride, and as wide, or where the stride is 1,
// as wide as the window: then a picture's values occur several times. The convolution of blocks has stride 1 and no
// padding.
constexpr int kMostBlockChannels = 256;
struct BlockShape {
  Number type = Number::kBFloat16;  // of blocks: of 16 bits
  int samples = 0, outputs = 0;
  int inputs = 0, channels = 0;  // of a picture, of a block
  int in[2] = {}, out[2] = {};   // height and width: of a picture, of the result
  int window[2] = {}, stride[2] = {}, padding[2] = {};
  int block[2] = {}, windows[2] = {}, blocks[2] = {};  // of a block; blocks of a window, and of a picture
};

// Where the values of a tensor of four dimensions lie, in elements.
struct Strides {
  std::int64_t of[4] = {};
};

// Rows times weights: a convolution whose window is one place. y = x * weight + x' * weight', and what follows it. All
// but `bias` and `sums` are bfloat16. Inputs and outputs are multiples of kProductMultiple.
constexpr int kProductMultiple = 64, kProductTileRows = 128;
constexpr std::int64_t product_tiles(std::int64_t rows) {
  return (rows + kProductTileRows - 1) / kProductTileRows;
}
struct RowsProduct {
  struct Term {
    const void* x = nullptr;  // a row has `inputs` values
    const void* weight = nullptr;
    int inputs = 0;
  };
  enum class Then {
    kNothing,  // but `late_bias`, where it is not null
    kBias,     // and `add`, where it is not null
    kRelu,     // after those two
    kPass,     // `add`, then 0 for what `passed` does not let by: the gradient of a ReLU
  };
  // Whether the weights of an output lie side by side; else those of an input do.
  static constexpr bool is_output_major(Then then) { return then == Then::kBias || then == Then::kRelu; }
  std::int64_t rows = 0;
  int outputs = 0;
  Term terms[2];  // the second one may have no inputs
  Then then = Then::kNothing;
  const float* bias = nullptr;
  const void *late_bias = nullptr, *add = nullptr;
  FewPlaces places;                  // where their stride is not 1, `add` has rows for the few places only; by kPass
  std::uint8_t* positive = nullptr;  // gets a bit for each value, row by row: whether the ReLU let it by
  const std::uint8_t* passed = nullptr;  // such bits
  void* y = nullptr;
  float* sums = nullptr;  // by kPass: of the values of y in a tile of rows; for each output product_tiles(rows) of them
};

// A convolution with a window of 3 x 3 places, stride 1 and padding 1, or the gradient of its input. All are bfloat16,
// and have as many channels before it as after it, which lie side by side, those of the inputs for each place of a
// weight's window. These are kWindowChannels, or, of pictures that are stacked, a multiple of kStackedChannels.
constexpr int kWindowChannels = 64, kWindowTileRows = 8;
constexpr int window_tile_columns(int width) {
  return width % 28 == 0 ? 28 : 32;
}
struct WindowConvolution {
  int samples = 0, height = 0, width = 0, channels = 0;
  bool is_gradient = false;
  const void *x = nullptr, *weight = nullptr;  // for a gradient, x is that of the results, and y that of the input
  void* y = nullptr;
  KnownValues* known = nullptr;  // of y, not for a gradient: window_parts() rows, as BatchNormForward takes them
};

// Small pictures lie on top of one another in shared memory.
constexpr int kStackedChannels = 128, kMostStackedChannels = 4096;
constexpr bool are_stacked(int height, int width, int channels) {
  const bool has_width = width == 4 || width == 8 || width == 16;
  return channels % kStackedChannels == 0 && channels <= kMostStackedChannels && has_width && height % 2 == 0 &&
         height >= 4;
}

// The gradient of the input of such a convolution, where that is what a batch normalization of `values` gave, and a
// ReLU: what the ReLU let by, and its sums.
struct WindowPassed {
  WindowConvolution convolution;  // is_gradient
  const void* values = nullptr;
  KeptChannels kept = {};
  const std::uint8_t* positive = nullptr;  // from the normalization's forward pass; null: found from the values
  const void* add = nullptr;               // the gradient of a second reader, where there is one
  GradientSums* sums = nullptr;            // window_parts() rows
};

// The convolution of blocks of pictures with a window of one block in width and up to kMostColumnRows in height, from
// kColumnChannels channels to kWindowChannels, with stride 1 and no padding. Rows of the result are a multiple of
// kWindowTileRows, columns one of kColumnTileColumns.
constexpr int kColumnChannels = 32, kMostColumnRows = 7, kColumnTileColumns = 32;
struct ColumnConvolution {
  int samples = 0, height = 0, width = 0;  // of the result
  int rows = 0;                            // of the window
  const void *x = nullptr, *weight = nullptr;
  void* y = nullptr;
  KnownValues* known = nullptr;  // of y: column_parts() rows
};

// And the gradient of its weights.
struct ColumnGradient {
  int samples = 0, height = 0, width = 0, rows = 0;
  const void *x = nullptr, *gradient = nullptr;  // of the results
  void* weight_gradient = nullptr;
};

// The gradient of the weights of such a convolution, of pictures that are stacked or of any others. The channels are a
// multiple of kWindowChannels.
constexpr int kGradientTileRows = 8, kGradientTileColumns = 16;
struct WindowGradient {
  int samples = 0, height = 0, width = 0, channels = 0;
  const void *x = nullptr, *gradient = nullptr;  // of the results
  void* weight_gradient = nullptr;
};

// A product of rows and weights, y = x * weight, and its batch normalization, which needs no y: the statistics of y
// follow from the sums of x and of the products of its channels. What is normalized is x * folded + offset. Weights are
// bfloat16, those of an output side by side; all else are floats. inputs is a multiple of kProductMultiple, and at most
// kMostNormInputs.
constexpr int kMostNormInputs = 512;
struct ProductNorm {
  std::int64_t rows = 0;
  int inputs = 0, outputs = 0;
  const void* weight = nullptr;
  float* sums = nullptr;         // of x
  float* covariances = nullptr;  // of each y with all x; from the forward pass for the backward pass, as all below
  float *mean = nullptr, *scale = nullptr, *inverse = nullptr;  // of each y; one over the deviation
};
struct ProductNormForward {
  ProductNorm shared;
  const float* sum_parts = nullptr;  // `parts` rows of floats, whose sum is that of x
  int parts = 0;
  const float* products = nullptr;                 // sums of x * x', for all pairs
  const float *weight = nullptr, *bias = nullptr;  // of the normalization
  float *running_mean = nullptr, *running_var = nullptr;
  std::int64_t* batches = nullptr;
  double momentum = 0, eps = 0;
  void* folded = nullptr;
  float* offset = nullptr;
};
// With the gradient g of what was normalized, the gradient of x is g * scaled + x * M + m, where M are the first
// `inputs` rows of the product of `corrections`, transposed, and the weights, and m is the row behind them.
constexpr int kCorrectionColumns = 8;  // behind the inputs of each row; only the first one is not 0
struct ProductNormBackward {
  ProductNorm shared;
  const float* products = nullptr;       // sums of g * x: for each y those with all x
  const float* gradient_sums = nullptr;  // of g: for each y `parts` of them
  int parts = 0;
  void* weight_gradient = nullptr;  // bfloat16, as the weights
  float *norm_weight_gradient = nullptr, *norm_bias_gradient = nullptr;
  void *scaled = nullptr, *corrections = nullptr;  // bfloat16
};

// From all places of pictures to the few, or back among zeros. At most as many vectors as an int counts.
struct FewCopy {
  FewPlaces places;
  int vectors = 0;           // of a place
  std::int64_t written = 0;  // places, of all pictures
  bool gathers = true;
  const void* from = nullptr;
  void* to = nullptr;
};

// Values that lie side by side, from one type to another.
struct CastPart {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t values = 0;
};
constexpr int kMostCastParts = 64;

class Kernels {
 public:
  virtual ~Kernels() = default;

  // Whether the current device has what they need.
  virtual bool run_here() const = 0;
  // Whether it has tensor cores as rows_product() needs them.
  virtual bool have_products() const = 0;

  virtual std::int64_t positive_bytes(const Rows& shape) const = 0;
  virtual int sum_parts(const Rows& shape) const = 0;
  virtual void batch_norm_forward(const BatchNormForward& work) const = 0;
  virtual void batch_norm_backward(const BatchNormBackward& work) const = 0;
  virtual void batch_norm_apply(const BatchNormApply& work) const = 0;

  virtual void max_pool(const MaxPoolForward& work) const = 0;
  virtual void max_pool_gradient(const MaxPoolBackward& work) const = 0;

  virtual void bias_act(const BiasAct& work) const = 0;
  virtual void bias_gradient(const BiasGradient& work) const = 0;

  // The mean over `positions` rows of each sample: `means` has a row for a sample.
  virtual void average_pool(const Rows& means, std::int64_t positions, void* y, const void* x) const = 0;
  virtual void average_pool_gradient(const Rows& means, std::int64_t positions, void* x_gradient,
                                     const void* gradient) const = 0;

  virtual void rows_product(const RowsProduct& work) const = 0;
  // These need such tensor cores too.
  virtual int window_parts(const WindowConvolution& work) const = 0;
  virtual bool window_keeps_busy(const WindowConvolution& work) const = 0;  // most of the GPU
  virtual void window_convolution(const WindowConvolution& work) const = 0;
  virtual void window_passed(const WindowPassed& work) const = 0;
  virtual void window_gradient(const WindowGradient& work) const = 0;
  virtual int column_parts(const ColumnConvolution& work) const = 0;
  virtual void column_convolution(const ColumnConvolution& work) const = 0;
  virtual void column_gradient(const ColumnGradient& work) const = 0;
  virtual void product_norm(const ProductNormForward& work) const = 0;
  virtual void product_norm_gradient(const ProductNormBackward& work) const = 0;
  virtual void copy_few(const FewCopy& work) const = 0;

  // At most kMostCastParts of them. All addresses are multiples of kVectorBytes.
  virtual void cast(Number to, Number from, const CastPart* parts, int count) const = 0;

  // All blocks of pictures, channels last. The pictures are of `x_type`, in any layout.
  virtual void gather_blocks(const BlockShape& shape, void* blocks, const void* x, Number x_type,
                             const Strides& x_strides) const = 0;
  // The weights of the convolution of blocks, channels last, and back from their gradient.
  virtual void gather_weights(const BlockShape& shape, void* blocks, const void* weight, Number weight_type,
                              const Strides& strides) const = 0;
  virtual void weights_gradient(const BlockShape& shape, void* gradient, Number gradient_type, const Strides& strides,
                                const void* blocks_gradient) const = 0;
};

}  // namespace lockstep::kernels::cuda
