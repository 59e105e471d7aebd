#pragma once
#include <map>
#include <set>
#include <string>

#include <ATen/core/Tensor.h>

namespace lockstep::optim {

// Tensors by name, from a checkpoint, that must be those that are asked for: no more, no fewer, of the right shapes.
class NamedEntries {
 public:
  // `what` they are, for errors: "the optimizer's state". The map must outlive this.
  NamedEntries(std::string what, const std::map<std::string, at::Tensor>& entries);

  bool has(const std::string& name) const { return entries_.count(name) != 0; }

  // Throws UsageError if it is missing or of another shape.
  const at::Tensor& at(const std::string& name, at::IntArrayRef sizes) const;

  // Throws UsageError that names what at() was never asked for.
  void require_all_used() const;

 private:
  std::string what_;
  const std::map<std::string, at::Tensor>& entries_;
  mutable std::set<std::string> used_;
};

}  // namespace lockstep::optim
