#include <lockstep/base/errors.h>

#include "report/parse_bench.h"
#include "report/parse_metrics.h"

// The same bytes as metrics.jsonl of a run, which is never refused, and as a result of lockstep bench.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::report;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Metrics metrics = parse_metrics(text);
  for (std::size_t i = 1; i < metrics.rows.size(); ++i) {
    if (metrics.rows[i].step < metrics.rows[i - 1].step) __builtin_trap();
  }
  try {
    parse_bench(text);
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
