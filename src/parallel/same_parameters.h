// What must be the same on all ranks before they train together.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/named_tensors.h>

namespace lockstep::parallel {

// Each tensor once, under its first name. Throws UsageError when a name is given to two tensors, when a tensor is
// undefined, or when there is none.
NamedTensors::List distinct(const std::string& who, const NamedTensors& tensors);

// Those of `tensors` that the optimizer has. Throws UsageError when it has none, or one that is not named.
NamedTensors::List parameters_of(const std::string& who, const torch::optim::Optimizer& optimizer,
                                 const NamedTensors& tensors);

// Collective. Returns what `find` returns when it gives the same names, types, shapes and layouts on every rank, and
// `options` is the same. Throws UsageError on every rank, with the first difference and its ranks, when that is not so,
// or when `find` throws on one.
NamedTensors::List require_same(const Group& group, const std::string& who, const std::string& options,
                                const std::function<NamedTensors::List()>& find);

// Collective. Throws UsageError on every rank, with what each has, when `mine` is not the same on all.
void require_same_text(const Group& group, const std::string& message, const std::string& mine);

}  // namespace lockstep::parallel
