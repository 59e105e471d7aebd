#pragma once
#include <string>

namespace lockstep {

// "0.1.0"
std::string version();

// The commit the build was made from, with "-dirty" when files had changed; empty for a build without git.
std::string revision();

// "g++ 12.2.0"
std::string compiler();

// The version of the libtorch that the build was made against.
std::string torch_version_at_build();

}  // namespace lockstep
