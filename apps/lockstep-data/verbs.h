// The verbs of `lockstep data`, one file each; as apps/lockstep/verbs.h.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace lockstep::app {

using Action = std::function<int()>;

void add_fetch(CLI::App& data, Action& action);
void add_pack(CLI::App& data, Action& action);
void add_prepare(CLI::App& data, Action& action);
void add_verify(CLI::App& data, Action& action);

}  // namespace lockstep::app
