#include <lockstep/base/errors.h>
#include <lockstep/data/csv.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::data;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  for (const char* label : {"", "0", "y"}) {
    try {
      const CsvTable table = parse_csv(content, "input", {.label = label, .max_line = 1000});
      const auto cells = static_cast<std::size_t>(table.rows * table.width);
      if (table.values.size() != cells) __builtin_trap();
      if (!table.labels.empty() && table.labels.size() != static_cast<std::size_t>(table.rows)) __builtin_trap();
    } catch (const lockstep::UsageError&) {
      // What is wrong was said.
    }
  }
  return 0;
}
