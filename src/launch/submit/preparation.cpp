#include "preparation.h"

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "shell.h"
#include "start.h"

namespace lockstep::launch {
namespace {

std::string about_threads(const SubmitOptions& options) {
  const std::string left =
      fmt::format("; the last {} of its cores communicate and do nothing else", options.cores_for_comm);
  return fmt::format(R"(# {} of each rank, one for each core that computes{}.
# KMP_BLOCKTIME is for Intel's OpenMP: a thread that waits gives its core back at once.
)",
                     format_plural(*options.threads, "thread"), options.cores_for_comm > 0 ? left : "");
}

}  // namespace

std::string first_line(const BatchJob& job) {
  return job.options.modules.empty() ? "#!/bin/bash\n" : "#!/bin/bash -l\n";  // `module` comes with a login
}

std::string directive(const std::string& start, const std::string& value) {
  return value.empty() ? "" : start + value + "\n";
}

std::string preparation(const BatchJob& job) {
  std::string text = fmt::format("# {}, {} on each. Written by `lockstep submit`, to be read and changed.\n\n",
                                 format_plural(job.options.nodes, "node"), format_plural(job.ranks_per_node, "rank"));
  if (!job.options.modules.empty()) {
    text += "# Before the strict mode below, which not every module bears.\n";
    for (const std::string& module : job.options.modules) text += fmt::format("module load {}\n", quote(module));
    text += '\n';
  }
  return text + "set -euo pipefail\n\n";
}

std::string exports(const BatchJob& job) {
  const auto list = variables(job);
  if (list.empty()) return "";
  std::string text = job.starter == Starter::kRun ? "" : about_threads(job.options);
  for (const std::string& variable : list) text += fmt::format("export {}\n", variable);
  return text + "\n";
}

}  // namespace lockstep::launch
