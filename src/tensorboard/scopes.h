// To which module each operation of a trace belongs. Modules of C++ leave no mark in a trace, so that is concluded from
// the parameters that operations use, and for the others from what feeds them.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace lockstep::tensorboard {

// An operation, as far as that matters. Operations are in the order in which they ran; `inputs` are the numbers of
// those that feed this one.
struct TracedOperation {
  std::vector<std::size_t> inputs;
  std::vector<std::string> owners;  // paths of the modules whose parameters it uses, such as "layer1.0.conv1"
  bool uses_example = false;        // it is fed by the input of all
  bool keeps_shape = false;         // its output has the shape of its first input
};

// A path for each operation; empty: of the root.
//
// One that uses parameters belongs to the module that owns them. One without, which keeps the shape (an activation, a
// sum), belongs to the module around the last one that feeds it; one that changes the shape (pooling, flattening) to
// the module around both that one and the next module with parameters behind it. `leaves` are the modules without
// sub-modules: nothing is around an operation there but the module itself.
std::vector<std::string> find_scopes(const std::vector<TracedOperation>& operations,
                                     const std::set<std::string>& leaves);

}  // namespace lockstep::tensorboard
