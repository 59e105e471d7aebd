#pragma once
#include <span>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep::parallel {

// The rank that each parameter belongs to: the largest first, each to the rank that has least. The same on all ranks.
std::vector<int> divide_by_size(std::span<const at::Tensor> parameters, int ranks);

// Gives the parameters of each owner to all other ranks: small ones together in a buffer, large ones where they lie.
class ParameterShares {
 public:
  ParameterShares(std::span<const at::Tensor> parameters, const std::vector<int>& owners);

  // Collective.
  void publish(const Group& group);

 private:
  struct Part {
    int owner = 0;
    std::vector<at::Tensor> parameters;
    at::Tensor buffer;              // undefined for a parameter that is alone
    std::vector<at::Tensor> views;  // of the parameters in it
  };
  std::vector<Part> parts_;
};

}  // namespace lockstep::parallel
