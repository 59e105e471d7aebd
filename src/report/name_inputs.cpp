#include "name_inputs.h"

#include <algorithm>

#include <lockstep/base/text.h>

namespace lockstep::report {
namespace {

// The last `count` names of an absolute path.
std::string last_names(const std::filesystem::path& path, std::size_t count) {
  const std::vector<std::string> names = split(path.string(), '/');
  std::string text;
  for (std::size_t i = names.size() - std::min(count, names.size()); i < names.size(); ++i) {
    text += (text.empty() ? "" : "/") + names[i];
  }
  return text;
}

std::filesystem::path whole_path(const Input& input) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(input.path, error), error);
  if (path.empty()) path = input.path;
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void name_inputs(std::vector<Input>& inputs) {
  std::vector<std::filesystem::path> paths;
  for (const Input& input : inputs) paths.push_back(whole_path(input));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto is_shared = [&](std::size_t count) {
      const std::string name = last_names(paths[i], count);
      return std::count_if(paths.begin(), paths.end(),
                           [&](const auto& other) { return last_names(other, count) == name; }) > 1;
    };
    const std::size_t most = split(paths[i].string(), '/').size();
    std::size_t count = 1;
    while (count < most && is_shared(count)) ++count;
    inputs[i].name = last_names(paths[i], count);
  }
}

}  // namespace lockstep::report
