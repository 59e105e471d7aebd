#include <lockstep/base/errors.h>
#include <lockstep/data/idx.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const int dimensions : {1, 3}) {
    try {
      lockstep::data::parse_idx(std::as_bytes(std::span(data, size)), dimensions, "input");
    } catch (const lockstep::UsageError&) {
      // What is wrong was said.
    }
  }
  return 0;
}
