#include <lockstep/bench/operations.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include "operation_work.h"

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Total {
  double calls = 0;
  Milliseconds time{};
  kernels::Work work;
};

// An operation that runs; those that it calls are inside of it.
struct Running : at::ObserverContext {
  std::string name;
  kernels::Work work;
  Running* outer = nullptr;
  Milliseconds inside{};
  Clock::time_point began;
};

// libtorch calls functions that know nothing but their thread.
thread_local std::map<std::string, Total>* totals = nullptr;
thread_local Running* innermost = nullptr;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  // The autograd engine's own frames are no operations.
  const std::string_view name = function.name();
  if (totals == nullptr || !(name.starts_with("aten::") || name.starts_with("lockstep::"))) return nullptr;
  auto running = std::make_unique<Running>();
  running->name = name;
  running->work = work_of(function);
  running->outer = innermost;
  innermost = running.get();
  running->began = Clock::now();
  return running;
}

void end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context == nullptr || totals == nullptr) return;
  const auto& running = static_cast<const Running&>(*context);
  const Milliseconds time = Clock::now() - running.began;
  innermost = running.outer;
  if (innermost != nullptr) innermost->inside += time;
  Total& total = (*totals)[running.name];
  total.calls += 1;
  total.time += time - running.inside;
  total.work.flop += running.work.flop;
  total.work.bytes += running.work.bytes;
}

// While it lives, this thread's operations are added up.
class Recording {
 public:
  explicit Recording(std::map<std::string, Total>& into) {
    totals = &into;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(begin, end).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~Recording() {
    at::removeCallback(handle_);
    totals = nullptr;
    innermost = nullptr;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  at::CallbackHandle handle_;
};

Table::Cell known(double value, double time) {
  return value > 0 && time > 0 ? Table::Cell(value / time * 1e3) : Table::Cell();
}

}  // namespace

std::optional<double> Operation::floor(const Peaks& peaks) const {
  if (gigaflop == 0 && gigabytes == 0) return std::nullopt;
  return std::max(gigaflop / peaks.gigaflops, gigabytes / peaks.gigabytes) * 1e3;
}

double Operations::outside() const {
  double inside = 0;
  for (const Operation& operation : operations) inside += operation.milliseconds;
  return milliseconds - inside;
}

Operations record_operations(const std::function<void()>& step, int steps) {
  Operations result{.peaks = measure_peaks()};
  std::map<std::string, Total> sums;
  const auto began = Clock::now();
  {
    const Recording recording(sums);
    for (int i = 0; i < steps; ++i) step();
  }
  result.milliseconds = Milliseconds(Clock::now() - began).count() / steps;
  for (const auto& [name, total] : sums) {
    result.operations.push_back({.name = name,
                                 .calls = total.calls / steps,
                                 .milliseconds = total.time.count() / steps,
                                 .gigaflop = total.work.flop / steps / 1e9,
                                 .gigabytes = total.work.bytes / steps / 1e9});
  }
  std::sort(result.operations.begin(), result.operations.end(),
            [](const Operation& a, const Operation& b) { return a.milliseconds > b.milliseconds; });
  return result;
}

Table operations_table(const Operations& all, double least) {
  Table table({{"operation"},
               {"calls", "", 0},
               {"milliseconds", "ms a step"},
               {"share", "share %", 1},
               {"gigaflops", "GFLOP/s", 0},
               {"gigabytes_per_second", "GB/s", 1},
               {"floor", "floor ms"},
               {"times_floor", "times it"}});
  const auto share = [&](double time) { return time / all.milliseconds * 100; };
  double rest = 0, calls = 0;
  for (const Operation& one : all.operations) {
    if (one.milliseconds < least * all.milliseconds) {
      rest += one.milliseconds, calls += one.calls;
      continue;
    }
    const auto floor = one.floor(all.peaks);
    table.add_row({one.name, one.calls, one.milliseconds, share(one.milliseconds),
                   known(one.gigaflop, one.milliseconds), known(one.gigabytes, one.milliseconds),
                   floor ? Table::Cell(*floor) : Table::Cell(),
                   floor && *floor > 0 ? Table::Cell(one.milliseconds / *floor) : Table::Cell()});
  }
  const auto plain_row = [&](const char* name, const Table::Cell& number, double time) {
    table.add_row({name, number, time, share(time), {}, {}, {}, {}});
  };
  if (calls > 0) plain_row("other operations", calls, rest);
  plain_row("outside of operations", {}, all.outside());
  return table;
}

}  // namespace lockstep::bench
