#pragma once
#include <string>
#include <vector>

namespace lockstep::launch {

// Runs a program of PATH with `input` on its stdin, without a shell, and returns the last line of what it prints. Its
// complaints go to our stderr. Waits as long as it takes. Throws RuntimeError when it fails.
std::string ask(const std::vector<std::string>& words, const std::string& input);

}  // namespace lockstep::launch
