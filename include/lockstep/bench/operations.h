// Where the time of training steps goes, operation by operation, beside the least that the machine could do it in.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/table.h>

namespace lockstep::bench {

// The most that this rank's threads can do, as measured just now.
struct Peaks {
  double gigaflops = 0;  // a second, in products of matrices that fit into a cache
  double gigabytes = 0;  // a second, of memory far larger than the caches
};

Peaks measure_peaks();

// All calls of one operation of libtorch or of ours, a step.
struct Operation {
  std::string name;  // aten::add_, lockstep::batch_norm
  double calls = 0;
  double milliseconds = 0;  // without the operations that it calls
  // Of its products, and of the tensors that it reads and writes, each once; 0 where that is not known.
  double gigaflop = 0, gigabytes = 0;

  // Milliseconds of the longer of the two at the machine's best; nothing where neither is known. What lies in a cache
  // can be read faster.
  std::optional<double> floor(const Peaks& peaks) const;
};

struct Operations {
  double milliseconds = 0;            // a step
  std::vector<Operation> operations;  // of the thread that trains, the longest first
  Peaks peaks;

  // Of a step, outside of all operations: autograd, communication that is waited for, the optimizer's own code.
  double outside() const;
};

// Calls `step` so many times, with each operation recorded. Threads of other pools are not looked at.
Operations record_operations(const std::function<void()>& step, int steps);

// Those with a part of the step of at least `least`, the rest in one row.
Table operations_table(const Operations& operations, double least);

}  // namespace lockstep::bench
