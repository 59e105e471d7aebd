#pragma once
#include <string>

#include <lockstep/checkpoint/manifest.h>

namespace lockstep::checkpoint {

// What is wrong with it, in words; empty when nothing is. It holds for what is written and for what is read.
std::string problem_of(const Manifest& manifest);

}  // namespace lockstep::checkpoint
