// Where the tests' own files are: data, configs, scripts and documents of the repository.
#pragma once
#include <filesystem>
#include <string>

namespace lockstep::test {

// NAME of the repository, such as "configs/mnist.yaml"; the repository itself where it is empty.
std::filesystem::path source_path(const std::string& name = "");

}  // namespace lockstep::test
