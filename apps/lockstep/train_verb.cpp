// lockstep train: reads the arguments and the config, so that a mistake is told once and before any rank begins; then
// becomes lockstep-torch, or starts ranks of it.
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/init_method.h>
#include <lockstep/launch/mpi_launcher.h>
#include <lockstep/launch/require_no_rank.h>
#include <lockstep/launch/run.h>
#include <lockstep/train/arguments.h>

#include "become.h"
#include "verbs.h"

namespace lockstep::app {
namespace {

using train::RankArguments;

// The nodes of `--dist-url tcp://...`, each started by hand.
launch::NodeOptions nodes_of(const RankArguments& ranks, const InitMethod& where) {
  if (!ranks.nodes || !ranks.node) {
    throw UsageError({.message = "--dist-url tcp://HOST:PORT needs the number of nodes and this node's",
                      .found = !ranks.nodes ? "no --world-size" : "no --rank",
                      .expected = "--world-size NODES --rank NODE, from 0 on the node of HOST"});
  }
  if (*ranks.node >= *ranks.nodes) {
    throw UsageError(
        {.message = "there is no such node",
         .found = "--rank " + std::to_string(*ranks.node) + " of --world-size " + std::to_string(*ranks.nodes),
         .expected = "--rank 0 to " + std::to_string(*ranks.nodes - 1)});
  }
  return {.min = *ranks.nodes,
          .max = *ranks.nodes,
          .node_rank = *ranks.node,
          .master_address = where.host,
          .master_port = where.port};
}

void require_no_nodes(const RankArguments& ranks, const std::string& message, const std::string& next) {
  if (!ranks.nodes && !ranks.node) return;
  throw UsageError(
      {.message = message,
       .found = ranks.nodes ? "--world-size " + std::to_string(*ranks.nodes) : "--rank " + std::to_string(*ranks.node),
       .next = next});
}

// What asks for ranks to be started; empty: nothing does.
std::string flag_of_ranks(const RankArguments& ranks) {
  if (ranks.ranks > 0) return "-n " + std::to_string(ranks.ranks);
  if (ranks.ranks_per_node > 0) return "--ranks-per-node " + std::to_string(ranks.ranks_per_node);
  return ranks.each_gpu ? "--multiprocessing-distributed" : "";
}

int start(const RankArguments& ranks, const std::string& backend, const std::vector<std::string>& command) {
  launch::RunOptions options{.ranks = ranks.ranks, .ranks_per_node = ranks.ranks_per_node, .command = command};
  const InitMethod where = parse_init_method(ranks.dist_url);
  switch (where.kind) {
    case InitMethod::Kind::kTcp:
      options.nodes = nodes_of(ranks, where);
      return launch::run(options);
    case InitMethod::Kind::kEnvironment:
      require_no_nodes(ranks, "--dist-url env:// takes all from the environment",
                       "leave it out, or name tcp://HOST:PORT");
      become(command);
    case InitMethod::Kind::kFile:
      throw UsageError({.message = "--dist-url cannot be a file here",
                        .found = ranks.dist_url,
                        .expected = "tcp://HOST:PORT or env://"});
    case InitMethod::Kind::kAutomatic:
      break;
  }
  require_no_nodes(ranks, "--world-size and --rank count nodes, which must know where to meet",
                   "add --dist-url tcp://HOST:PORT, HOST being the node of --rank 0; for ranks on this machine: -n N");
  const std::string flag = flag_of_ranks(ranks);
  if (!flag.empty()) launch::require_no_rank(flag);
  if (ranks.ranks > 0 && backend == "mpi") become(launch::mpi_command(ranks.ranks, command));
  if (!flag.empty()) return launch::run(options);
  become(command);
}

int train(std::vector<std::string> words) {
  CLI::App program("", "lockstep");
  CLI::App* verb = program.add_subcommand("train", "Trains a model from a config, on one rank or many");
  train::Arguments arguments;
  train::add_arguments(*verb, arguments);
  std::vector<const char*> argv = {"lockstep", "train"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  if (const auto done = parse_command_line(program, static_cast<int>(argv.size()), argv.data())) return *done;
  if (arguments.list_keys) {
    std::cout << train::list_keys(arguments.markdown);
    return kExitSuccess;
  }
  if (arguments.print_config) {
    std::cout << train::print_config(arguments);
    return kExitSuccess;
  }
  const train::RunConfig config = train::compose_run(arguments).config;
  if (arguments.ranks.ranks > 0 && !arguments.evaluate) {
    std::ignore = train::global_batch(config, arguments.ranks.ranks);  // can be divided
  }
  words.insert(words.begin(), {program_beside("lockstep-torch"), "train"});
  return start(arguments.ranks, config.parallel.backend, words);
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("train", "Trains a model from a config, on one rank or many");
  verb->prefix_command();
  verb->set_help_flag();  // the arguments are read below, from the words as they were typed, which ranks get too
  verb->callback([verb, &action] { action = [verb] { return train(verb->remaining()); }; });
}

}  // namespace lockstep::app
