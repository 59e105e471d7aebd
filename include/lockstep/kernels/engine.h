// Which code computes a model.
#pragma once
#include <string>
#include <vector>

namespace lockstep::kernels {

// The operations of libtorch, one after the other; or our own where they are faster, several steps in one.
enum class Engine { kReference, kFused };

// "reference", "fused"
const std::vector<std::string>& engine_names();

// UsageError for another name, with the nearest.
Engine parse_engine(const std::string& name);
std::string to_text(Engine engine);

// Of this process. What a forward pass ran with, its backward pass has too, whatever was set in between.
Engine engine();
void set_engine(Engine engine);

}  // namespace lockstep::kernels
