#include "source_path.h"

namespace lockstep::test {

std::filesystem::path source_path(const std::string& name) {
  return std::filesystem::path(LOCKSTEP_TEST_SOURCE) / name;
}

}  // namespace lockstep::test
