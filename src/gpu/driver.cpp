#include "driver.h"

#include <lockstep/base/plugin.h>

namespace lockstep::gpu {

Driver& driver() {
  static Driver& loaded = *reinterpret_cast<Driver* (*)()>(plugin_symbol("cuda", "lockstep_gpu_driver"))();
  return loaded;
}

}  // namespace lockstep::gpu
