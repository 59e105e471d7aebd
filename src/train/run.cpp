#include <lockstep/train/run.h>

#include <lockstep/base/errors.h>

namespace lockstep::train {

int run(const RunOptions& options) {
  throw RuntimeError("lockstep train cannot run '" + options.name + "' yet");
}

}  // namespace lockstep::train
