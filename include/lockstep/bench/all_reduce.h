// How fast an all-reduce is, by size.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep::bench {

struct AllReduceOptions {
  std::vector<std::int64_t> bytes;  // of float32 elements; multiples of 4
  std::chrono::milliseconds time_per_size{500};
};

struct AllReduceRow {
  std::int64_t bytes = 0;
  double microseconds = 0;    // of one operation: the median over rounds of the slowest rank's average
  double algbw_gb_per_s = 0;  // bytes over time
  double busbw_gb_per_s =
      0;                 // algbw times 2(n-1)/n: what each rank's link carries, comparable between numbers of ranks
  bool correct = false;  // the sum of integer-valued inputs was exact in every element, on every rank
};

// Collective. The rows are the same on every rank.
std::vector<AllReduceRow> measure_all_reduce(const Group& group, const AllReduceOptions& options);

// "4K:128M" as 4096, 8192, ... 134217728; "64K" or "1M,25M" as they stand. K, M and G are powers of 1024. Throws
// UsageError for what it does not understand.
std::vector<std::int64_t> parse_sizes(const std::string& text);

}  // namespace lockstep::bench
