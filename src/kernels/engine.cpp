#include <lockstep/kernels/engine.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::kernels {
namespace {

std::atomic<Engine> current = Engine::kFused;

}  // namespace

// In the order of the enumeration.
const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"reference", "fused"};
  return names;
}

Engine parse_engine(const std::string& name) {
  const auto& names = engine_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Engine>(found - names.begin());
  throw UsageError({.message = fmt::format("there is no engine '{}'{}", name, did_you_mean(name, names)),
                    .expected = fmt::format("one of {}", fmt::join(names, ", "))});
}

std::string to_text(Engine engine) {
  return engine_names()[static_cast<std::size_t>(engine)];
}

Engine engine() {
  return current;
}

void set_engine(Engine engine) {
  current = engine;
}

}  // namespace lockstep::kernels
