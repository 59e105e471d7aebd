#include <lockstep/bench/all_reduce.h>

#include <algorithm>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

namespace lockstep::bench {
namespace {

constexpr int kRounds = 7;
constexpr int kWarmUps = 3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Whole numbers small enough that their sum over all ranks is exact in a float.
at::Tensor exact_input(std::int64_t count, int rank) {
  return at::arange(count, at::kFloat).remainder_(1024).add_(rank);
}

bool sums_exactly(const Group& group, std::int64_t count) {
  const at::Tensor tensor = exact_input(count, group.rank());
  group.all_reduce(tensor);
  const int n = group.size();
  const at::Tensor expected = exact_input(count, 0).mul_(n).add_(n * (n - 1) / 2);
  const bool here = tensor.eq(expected).all().item<bool>();
  return group.all_reduce_value(std::int64_t{here ? 1 : 0}, Reduce::kMin) == 1;
}

// Seconds for one operation when `iterations` follow one another, on the slowest rank.
double time_round(const Group& group, const at::Tensor& tensor, std::int64_t iterations) {
  group.barrier();
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < iterations; ++i) group.all_reduce(tensor);
  return group.all_reduce_value(seconds_since(start), Reduce::kMax) / static_cast<double>(iterations);
}

AllReduceRow measure(const Group& group, std::int64_t bytes, std::chrono::duration<double> time) {
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  AllReduceRow row{.bytes = bytes, .correct = sums_exactly(group, count)};
  const at::Tensor tensor = at::zeros({count});  // stays zero, so that no round meets infinities
  const double estimate = std::max(time_round(group, tensor, kWarmUps), 1e-7);
  const auto iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(time.count() / kRounds / estimate));
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(time_round(group, tensor, iterations));
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  const double seconds = rounds[kRounds / 2];
  row.microseconds = seconds * 1e6;
  row.algbw_gb_per_s = static_cast<double>(bytes) / seconds / 1e9;
  row.busbw_gb_per_s = row.algbw_gb_per_s * 2 * (group.size() - 1) / group.size();
  return row;
}

}  // namespace

std::vector<AllReduceRow> measure_all_reduce(const Group& group, const AllReduceOptions& options) {
  std::vector<AllReduceRow> rows;
  for (const std::int64_t bytes : options.bytes) rows.push_back(measure(group, bytes, options.time_per_size));
  return rows;
}

}  // namespace lockstep::bench
