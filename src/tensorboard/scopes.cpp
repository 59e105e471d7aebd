#include "scopes.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace lockstep::tensorboard {
namespace {

std::string parent(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// The longest path that both begin with.
std::string common(std::string one, std::string_view other) {
  const auto is_around = [&] { return other == one || (other.starts_with(one) && other[one.size()] == '.'); };
  while (!one.empty() && !is_around()) one = parent(one);
  return one;
}

class Finder {
 public:
  Finder(const std::vector<TracedOperation>& operations, const std::set<std::string>& leaves)
      : operations_(operations), leaves_(leaves), scopes_(operations.size()), next_(operations.size()) {}

  std::vector<std::string> find() {
    find_owners();
    find_next();
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (!owned_[i]) scopes_[i] = scope_by_neighbours(i);
    }
    return scopes_;
  }

 private:
  std::string around(const std::string& scope) const { return leaves_.contains(scope) ? parent(scope) : scope; }

  // Also through operations on nothing but parameters, such as a weight that is transposed.
  void find_owners() {
    owned_.resize(operations_.size());
    std::vector<bool> only_parameters(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      std::vector<std::string> owners = operations_[i].owners;
      only_parameters[i] = !operations_[i].uses_example;
      for (const std::size_t input : operations_[i].inputs) {
        only_parameters[i] = only_parameters[i] && only_parameters[input];
        if (only_parameters[input] && owned_[input]) owners.push_back(scopes_[input]);
      }
      if (owners.empty()) continue;
      owned_[i] = true;
      scopes_[i] = owners.front();
      for (const std::string& owner : owners) scopes_[i] = common(scopes_[i], owner);
    }
  }

  // For each operation, the module around the first one with parameters that comes behind it; the root where there is
  // none.
  void find_next() {
    std::vector<std::optional<std::size_t>> user(operations_.size());
    for (std::size_t i = operations_.size(); i-- > 0;) {
      for (const std::size_t input : operations_[i].inputs) user[input] = i;
    }
    for (std::size_t i = operations_.size(); i-- > 0;) {
      if (user[i]) next_[i] = owned_[*user[i]] ? around(scopes_[*user[i]]) : next_[*user[i]];
    }
  }

  std::string scope_by_neighbours(std::size_t i) const {
    const TracedOperation& operation = operations_[i];
    if (operation.inputs.empty()) return "";
    const std::string last = around(scopes_[*std::ranges::max_element(operation.inputs)]);
    return operation.keeps_shape ? last : common(last, next_[i]);
  }

  const std::vector<TracedOperation>& operations_;
  const std::set<std::string>& leaves_;
  std::vector<std::string> scopes_;
  std::vector<std::string> next_;
  std::vector<bool> owned_;
};

}  // namespace

std::vector<std::string> find_scopes(const std::vector<TracedOperation>& operations,
                                     const std::set<std::string>& leaves) {
  return Finder(operations, leaves).find();
}

}  // namespace lockstep::tensorboard
