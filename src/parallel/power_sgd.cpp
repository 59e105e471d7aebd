#include <algorithm>
#include <map>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/comm_hooks.h>

namespace lockstep {
namespace {

constexpr int kHighestRank = 8;

// A gradient that is sent as P Qᵗ.
struct Matrix {
  at::Tensor gradient;  // rows x columns, a view of the bucket
  at::Tensor p, q;      // rows x rank and columns x rank, views of what is sent
};

// What a bucket keeps from one step to the next.
struct Memory {
  at::Tensor q;                        // of all matrices, end to end: where the next power iteration starts
  std::vector<at::Tensor> errors;      // of each matrix: what has not been sent yet
  std::vector<at::Tensor> parameters;  // whose these are
};

// One step of one bucket.
struct Step {
  std::vector<Matrix> matrices;
  std::vector<at::Tensor> whole;  // gradients that are no matrices, flat
  at::Tensor message;             // the P of all matrices, then what is sent whole
};

class PowerSgd {
 public:
  explicit PowerSgd(const PowerSgdOptions& options) : options_(options) {}

  BucketWork start(const GradientBucket& bucket, const Group& group) {
    const c10::NoGradGuard no_grad;
    if (bucket.index == 0) ++iteration_;
    if (iteration_ <= options_.start_iteration) return {group.all_reduce_async(bucket.buffer, Reduce::kAverage), {}};

    Memory& memory = memories_[bucket.index];
    auto step = std::make_shared<Step>(divide(bucket, memory));
    memory.errors.resize(step->matrices.size());
    for (std::size_t i = 0; i < step->matrices.size(); ++i) {
      Matrix& matrix = step->matrices[i];
      at::Tensor& error = memory.errors[i];
      if (error.defined()) matrix.gradient.add_(error);
      error = matrix.gradient.clone();
      at::matmul_out(matrix.p, matrix.gradient, matrix.q);
    }
    Work work = group.all_reduce_async(step->message, Reduce::kAverage);
    return {std::move(work), [step, &memory, group] { finish(*step, memory, group); }};
  }

 private:
  // 0 for a gradient that is sent whole.
  std::int64_t rank_for(std::int64_t rows, std::int64_t columns) const {
    const std::int64_t rank = std::min<std::int64_t>({options_.rank, rows, columns});
    return rows * columns >= (rows + columns) * rank * options_.least_compression ? rank : 0;
  }

  Step divide(const GradientBucket& bucket, Memory& memory) const {
    struct Shape {
      std::int64_t rows, columns, rank;
    };
    std::vector<Shape> shapes;
    Step step;
    std::int64_t p_size = 0, q_size = 0, whole_size = 0;
    for (const at::Tensor& its : bucket.gradients) {
      const at::Tensor gradient = its.is_complex() ? at::view_as_real(its) : its;
      const std::int64_t size = gradient.numel();
      const at::Tensor flat = gradient.as_strided({size}, {1});
      // A matrix needs the first dimension outermost in memory; the order of the others does not matter.
      const bool is_matrix = gradient.dim() >= 2 && gradient.stride(0) * gradient.size(0) == size;
      const std::int64_t rows = is_matrix ? gradient.size(0) : 1;
      const std::int64_t rank = is_matrix ? rank_for(rows, size / rows) : 0;
      if (rank == 0) {
        step.whole.push_back(flat);
        whole_size += size;
        continue;
      }
      shapes.push_back({rows, size / rows, rank});
      step.matrices.push_back({.gradient = flat.view({rows, size / rows}), .p = {}, .q = {}});
      p_size += rows * rank;
      q_size += size / rows * rank;
    }
    // Buckets are made anew once, after the first step: then what was remembered is of other parameters.
    const bool is_known =
        std::equal(bucket.parameters.begin(), bucket.parameters.end(), memory.parameters.begin(),
                   memory.parameters.end(), [](const at::Tensor& a, const at::Tensor& b) { return a.is_same(b); });
    if (!is_known) {
      memory.parameters = bucket.parameters;
      // The same on every rank, so that their P can be added.
      auto generator = at::make_generator<at::CPUGeneratorImpl>(options_.seed + bucket.index);
      memory.q = at::randn({q_size}, generator, bucket.buffer.options().device(at::kCPU)).to(bucket.buffer.device());
      memory.errors.clear();
    }
    step.message = at::empty({p_size + whole_size}, bucket.buffer.options());
    std::int64_t p_offset = 0, q_offset = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto [rows, columns, rank] = shapes[i];
      step.matrices[i].p = step.message.narrow(0, p_offset, rows * rank).view({rows, rank});
      step.matrices[i].q = memory.q.narrow(0, q_offset, columns * rank).view({columns, rank});
      p_offset += rows * rank;
      q_offset += columns * rank;
    }
    if (!step.whole.empty()) {
      at::Tensor whole = whole_part(step);
      at::cat_out(whole, step.whole);
    }
    return step;
  }

  static at::Tensor whole_part(const Step& step) {
    std::int64_t size = 0;
    for (const at::Tensor& part : step.whole) size += part.numel();
    return step.message.narrow(0, step.message.numel() - size, size);
  }

  // A step that is not finite must not spoil those after it. On all ranks `q` is the same, and so is what becomes of
  // it.
  static void forget_what_is_not_finite(at::Tensor& values) { values.nan_to_num_(0, 0, 0); }

  // There is no decomposition in 16 bits.
  static at::Tensor orthogonal(const at::Tensor& p) {
    const bool is_short = p.scalar_type() == at::kHalf || p.scalar_type() == at::kBFloat16;
    return std::get<0>(at::linalg_qr(is_short ? p.to(at::kFloat) : p));
  }

  static void finish(Step& step, Memory& memory, const Group& group) {
    const c10::NoGradGuard no_grad;
    for (Matrix& matrix : step.matrices) {
      matrix.p.copy_(orthogonal(matrix.p));
      at::matmul_out(matrix.q, matrix.gradient.t(), matrix.p);
    }
    if (!step.matrices.empty()) group.all_reduce(memory.q, Reduce::kAverage);
    for (std::size_t i = 0; i < step.matrices.size(); ++i) {
      Matrix& matrix = step.matrices[i];
      at::matmul_out(matrix.gradient, matrix.p, matrix.q.t());
      memory.errors[i].sub_(matrix.gradient);
      forget_what_is_not_finite(memory.errors[i]);
    }
    forget_what_is_not_finite(memory.q);
    const at::Tensor averages = whole_part(step);
    std::int64_t offset = 0;
    for (const at::Tensor& part : step.whole) {
      part.copy_(averages.narrow(0, offset, part.numel()));
      offset += part.numel();
    }
  }

  PowerSgdOptions options_;
  int iteration_ = 0;
  std::map<std::size_t, Memory> memories_;
};

}  // namespace

CommHook power_sgd(const PowerSgdOptions& options) {
  if (options.rank < 1 || options.rank > kHighestRank) {
    throw UsageError({.message = "power_sgd: no such rank of the approximation",
                      .found = std::to_string(options.rank),
                      .expected = fmt::format("1 to {}", kHighestRank)});
  }
  return [state = std::make_shared<PowerSgd>(options)](const GradientBucket& bucket, const Group& group) {
    return state->start(bucket, group);
  };
}

}  // namespace lockstep
