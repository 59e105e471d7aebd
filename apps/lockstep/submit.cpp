// lockstep submit: a batch script for Slurm, PBS or Cobalt, printed or handed over.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/launch/submit.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string config, scheduler, starter, time;
  std::vector<std::string> environment;
  bool no_requeue = false, now = false, print = false;
  int signal_ahead = 120;
};

// FILE or FILE:SECTION, with the file's whole path: the job may begin in another folder.
std::string absolute_config(const std::string& config) {
  std::string file = config, section;
  if (const std::size_t colon = config.rfind(':'); !std::filesystem::exists(file) && colon != std::string::npos) {
    file = config.substr(0, colon);
    section = config.substr(colon);
  }
  if (!std::filesystem::is_regular_file(file)) {
    throw UsageError({.message = "the config is no file",
                      .found = config,
                      .expected = "CONFIG or CONFIG:SECTION; a program of your own stands behind --"});
  }
  return std::filesystem::absolute(file).lexically_normal().string() + section;
}

std::vector<std::string> command_of(const std::string& config, const std::vector<std::string>& program) {
  if (config.empty()) return program;
  if (!program.empty()) {
    throw UsageError({.message = "a config and a program are one too many",
                      .found = config + " -- " + program.front(),
                      .next = "leave one out"});
  }
  return {"lockstep", "train", absolute_config(config)};
}

std::pair<std::string, std::string> variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw UsageError({.message = "-e needs NAME=VALUE", .found = text});
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int run(launch::SubmitOptions options, const Words& words, const std::vector<std::string>& after_dashes) {
  options.scheduler = launch::find_scheduler(words.scheduler);
  if (!words.starter.empty()) options.starter = launch::find_starter(words.starter);
  options.command = command_of(words.config, after_dashes);
  options.time = launch::parse_job_time(words.time);
  options.signal_ahead = std::chrono::seconds(words.signal_ahead);
  if (words.no_requeue) options.requeues = 0;
  for (const std::string& text : words.environment) options.environment.push_back(variable(text));
  std::cout << (words.now ? launch::submit(options) + "\n" : launch::batch_script(options));
  return kExitSuccess;
}

}  // namespace

void add_submit(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes) {
  CLI::App* verb = program.add_subcommand("submit", "Writes a batch script for Slurm, PBS or Cobalt, or submits it");
  auto options = std::make_shared<launch::SubmitOptions>();
  auto words = std::make_shared<Words>();
  verb->add_option("config", words->config, "What to train: CONFIG[:SECTION]")->type_name("CONFIG");
  verb->add_option("--scheduler", words->scheduler, "slurm, pbs or cobalt; else the one that is here");
  verb->add_option("--nodes", options->nodes, "Nodes")->required();
  verb->add_option("--time", words->time, "Time limit: 30 (minutes), 90m, 2h, 1:30:00, 2-00:00:00")->required();
  verb->add_option("--ranks-per-node", options->ranks_per_node, "Ranks on each node; else one for each GPU, or one");
  verb->add_option("--gpus-per-node", options->gpus_per_node, "GPUs of a node, each with its rank");
  verb->add_option("--threads", options->threads, "Threads of a rank that compute");
  verb->add_option("--threads-per-core", options->threads_per_core, "Threads that share a core (1)");
  verb->add_option("--cores-for-comm", options->cores_for_comm, "Cores of a rank that are left to communication (0)");
  verb->add_option("--start", words->starter, "Who starts ranks: srun, mpiexec (Hydra), pals, aprun, run");
  verb->add_option("--account", options->account, "Whom to charge");
  verb->add_option("--queue", options->queue, "Queue, or partition");
  verb->add_option("--constraint", options->constraint, "Which nodes: knl,quad,cache; mcdram=cache:numa=quad");
  verb->add_option("--qos", options->qos, "Quality of service, in Slurm");
  verb->add_option("--name", options->name, "Name of the job; else after the config or the program");
  verb->add_option("--output", options->output, "File for what the job prints");
  verb->add_option("--module", options->modules, "Module to load; may be repeated")->allow_extra_args(false);
  verb->add_option("-e", words->environment, "NAME=VALUE for the ranks; may be repeated")->allow_extra_args(false);
  verb->add_option("--signal-ahead", words->signal_ahead, "Seconds from USR1 to the time limit (120)");
  CLI::Option* requeues = verb->add_option("--requeues", options->requeues, "How often to go on after a stop (20)");
  verb->add_flag("--no-requeue", words->no_requeue, "Stay stopped, with the checkpoint")->excludes(requeues);
  CLI::Option* now = verb->add_flag("--now", words->now, "Submit it and print the job's number");
  verb->add_flag("--print", words->print, "Print the script (the default)")->excludes(now);
  verb->footer(
      "lockstep submit CONFIG --nodes N --time T ...\nlockstep submit --nodes N --time T ... -- PROGRAM "
      "[ARGUMENTS...]");
  verb->callback([options, words, &action, &after_dashes] {
    action = [options, words, &after_dashes] { return run(*options, *words, after_dashes); };
  });
}

}  // namespace lockstep::app
