// The verbs that need libtorch, one file each; as apps/lockstep/verbs.h.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace lockstep::app {

using Action = std::function<int()>;

void add_bench_all_reduce(CLI::App& bench, Action& action);
void add_bench_loader(CLI::App& bench, Action& action);
void add_bench_step(CLI::App& bench, Action& action);
void add_bench_turns(CLI::App& bench, Action& action);
void add_train(CLI::App& program, Action& action);

}  // namespace lockstep::app
