#include "decode_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::test::decode_input({data, size});
  return 0;
}
