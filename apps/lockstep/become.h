#pragma once
#include <string>
#include <vector>

namespace lockstep::app {

// The path of a program of ours that lies beside this one.
std::string program_beside(const std::string& name);

// Becomes the program words[0] with the rest as its arguments. Throws RuntimeError when it cannot be executed.
[[noreturn]] void become(const std::vector<std::string>& words);

}  // namespace lockstep::app
