#include <lockstep/base/errors.h>

#include "data/cifar_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::data;
  const CifarLabelPlace ten;
  const CifarLabelPlace hundred{.bytes = 2, .place = 1, .key = "fine_labels", .classes = 100};
  for (const CifarLabelPlace& label : {ten, hundred}) {
    CifarPictures pictures;
    try {
      append_cifar_binary(std::as_bytes(std::span(data, size)), label, "input", pictures);
      if (pictures.pixels.size() != kCifarPicture * pictures.labels.size()) __builtin_trap();
    } catch (const lockstep::UsageError&) {
      // What is wrong was said.
    }
  }
  return 0;
}
