#pragma once
#include <string>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep::parallel {

// Looks at the gradients of a step before and after they are reduced, at those in the CPU's memory, as looks_finite
// does. What is not finite after it is an error on every rank, which says on which ranks it was so before.
class FiniteCheck {
 public:
  // One that is not `on` looks at nothing and finds nothing.
  explicit FiniteCheck(bool on) : on_(on) {}

  // What follows belongs to a new step.
  void begin();

  // This rank's gradient of the parameter of this name, and what became of it and those of the other ranks.
  void look_before(const std::string& name, const at::Tensor& gradient);
  void look_after(const std::string& name, const at::Tensor& gradient);

  // Somebody else found that this rank's gradient is not finite.
  void count_bad(const std::string& name) { before_.push_back(name); }

  // When all of a step have been looked at. Throws NotFiniteError, on every rank alike, when some were not finite; a
  // collective only then.
  void require_finite(const Group& group) const;

 private:
  bool on_;
  std::vector<std::string> before_;  // of parameters whose gradient was not finite on this rank
  std::vector<std::string> after_;   // of those whose reduced one is not, the same on all ranks
};

}  // namespace lockstep::parallel
