// Some steps of all ranks, as one timeline.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include <lockstep/comm/group.h>
#include <lockstep/trace/summary.h>

namespace lockstep::train {

struct StepTraceOptions {
  trace::StepWindow steps;
  std::filesystem::path file;  // a Chrome trace; compressed where its name ends in .gz
  at::Device device = at::kCPU;
};

// Records what ranks do from the first of these steps to the last, and then brings it together on rank 0, which writes
// the file and says in the log what it shows. On a GPU the kernels of libtorch's own profiler are among it. Every rank
// makes one, and calls it equally often. A file that cannot be written is told as a warning; training goes on.
class StepTrace {
 public:
  StepTrace(Group group, StepTraceOptions options);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  // So many steps are done, and no part of the next has begun. Collective where the window begins or ends.
  void reach(std::int64_t steps);

  // There are no more steps. Collective. Writes what there is, or warns that there is nothing.
  void finish();

  // On rank 0, when the file has been written; and else what went wrong, or nothing.
  const std::optional<trace::Summary>& summary() const;
  const std::string& problem() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep::train
