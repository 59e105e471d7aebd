#include <lockstep/base/errors.h>

#include "data/cifar_batch.h"
#include "data/numpy_pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::data;
  const auto content = std::as_bytes(std::span(data, size));
  CifarPictures pictures;
  try {
    append_cifar_pickle(content, {}, "input", pictures);
    if (pictures.pixels.size() != kCifarPicture * pictures.labels.size()) __builtin_trap();
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  try {
    const auto names = NumpyPickle(content, "input").strings("label_names");
  } catch (const lockstep::UsageError&) {
    // As above.
  }
  return 0;
}
