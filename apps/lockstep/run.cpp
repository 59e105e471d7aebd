// lockstep run: starts ranks. lockstep agent: a node's part of a job that another launcher leads.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/text.h>
#include <lockstep/launch/run.h>

#include "binding_options.h"
#include "verbs.h"

namespace lockstep::app {
namespace {

using launch::RunOptions;

// The one of `names` that was given; CLI11 reports an error with what stands behind it.
template <typename Value>
CLI::Option* add_choice(CLI::App& verb, const std::string& flag, Value& value,
                        const std::vector<std::pair<std::string, Value>>& names, const std::string& description) {
  const auto choose = [&value, names, flag](const std::string& word) {
    std::vector<std::string> known;
    for (const auto& [name, meaning] : names) {
      if (name == word) {
        value = meaning;
        return;
      }
      known.push_back(name);
    }
    throw CLI::ValidationError(flag, "'" + word + "' is none of " + format_some(known, known.size()));
  };
  return verb.add_option_function<std::string>(flag, choose, description)->type_name("KIND");
}

// A part of `word` that must be a number from 1 up; `complaint` says what the whole should have been.
int parse_number(std::string_view text, const std::string& flag, const std::string& word,
                 const std::string& complaint = "is neither N nor MIN:MAX") {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) {
    throw CLI::ValidationError(flag, "'" + word + "' " + complaint);
  }
  return number;
}

void add_nodes(CLI::App& verb, launch::NodeOptions& nodes) {
  verb.add_option_function<std::string>(
          "--nnodes",
          [&nodes](const std::string& word) {
            const std::size_t colon = word.find(':');
            nodes.min = parse_number(std::string_view(word).substr(0, colon), "--nnodes", word);
            nodes.max = colon == std::string::npos
                            ? nodes.min
                            : parse_number(std::string_view(word).substr(colon + 1), "--nnodes", word);
          },
          "Number of nodes, or MIN:MAX: as many as come; the same command runs on each")
      ->type_name("N|MIN:MAX")
      ->group("Several nodes");
  const auto in_group = [](CLI::Option* option) { option->group("Several nodes"); };
  in_group(verb.add_option("--node-rank,--node_rank", nodes.node_rank, "This node's number; 0 leads")
               ->check(CLI::Range(0, 65'535)));
  in_group(verb.add_option("--master-addr,--master_addr", nodes.master_address, "Address of the node that leads"));
  in_group(verb.add_option("--master-port,--master_port", nodes.master_port, "Its port (29500)")
               ->check(CLI::Range(1, 65'535)));
  in_group(verb.add_option("--token-file", nodes.token_file,
                           "The nodes' secret, mode 0600 (default: from ~/.lockstep/key)"));
  in_group(verb.add_option("--hosts", nodes.hosts, "Start on these hosts over ssh; NAME:R gives a host R ranks")
               ->delimiter(','));
  in_group(verb.add_option("--hostfile", nodes.hostfile, "The same from a file, one host a line"));
  in_group(verb.add_option("--ssh", nodes.ssh, "The program that reaches them, with its options"));
  in_group(verb.add_option_function<int>(
                   "--join-timeout", [&nodes](int seconds) { nodes.join_timeout = std::chrono::seconds(seconds); },
                   "Seconds for all nodes to come (300)")
               ->check(CLI::Range(1, 7 * 24 * 3600)));
}

void add_output(CLI::App& verb, RunOptions& options) {
  verb.add_flag("--label", options.output.label, "[rank/size] before each line")->group("Output");
  verb.add_option("--log-dir", options.output.log_dir, "Also into DIR/HOST/RANK/stdout and stderr")->group("Output");
  using Show = launch::OutputOptions::Show;
  add_choice<Show>(verb, "--output", options.output.show,
                   {{"all", Show::kAll}, {"first", Show::kFirst}, {"none", Show::kNone}},
                   "Whose lines are printed: all, first (rank 0's), none")
      ->group("Output");
  verb.add_flag("--all-ranks", options.all_ranks, "Every rank's log speaks, not rank 0's alone")->group("Output");
}

void add_fate(CLI::App& verb, RunOptions& options) {
  const auto in_group = [](CLI::Option* option) { option->group("Failures and the end"); };
  in_group(verb.add_option("--max-restarts,--max_restarts", options.max_restarts, "Start the job again, so many times")
               ->check(CLI::Range(0, 1'000'000)));
  in_group(verb.add_option_function<int>(
                   "--heartbeat", [&options](int seconds) { options.heartbeat = std::chrono::seconds(seconds); },
                   "A rank that is silent for so many seconds fails the job")
               ->check(CLI::Range(1, 7 * 24 * 3600)));
  in_group(verb.add_option_function<double>(
                   "--grace",
                   [&options](double seconds) {
                     options.grace = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
                   },
                   "Seconds for ranks to end when they are asked to (3)")
               ->check(CLI::Range(0.0, 86'400.0)));
}

void add_environment(CLI::App& verb, RunOptions& options) {
  verb.add_option_function<std::vector<std::string>>(
          "-e,--env",
          [&options](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const std::size_t equals = word.find('=');
              if (equals == 0 || equals == std::string::npos) {
                throw CLI::ValidationError("-e", "'" + word + "' is not NAME=VALUE");
              }
              options.environment[word.substr(0, equals)] = word.substr(equals + 1);
            }
          },
          "A variable for the ranks")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
}

}  // namespace

void add_run(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes) {
  CLI::App* verb = program.add_subcommand("run", "Starts a program as the ranks of a job, here or on many nodes");
  auto options = std::make_shared<RunOptions>();
  verb->add_option("-n,--ranks", options->ranks, "Number of ranks in all")->check(CLI::Range(1, 65'536));
  verb->add_option("--ranks-per-node,--nproc-per-node,--nproc_per_node", options->ranks_per_node,
                   "Number of ranks on each node (default: one for each GPU, else one)")
      ->check(CLI::Range(1, 4096));
  add_environment(*verb, *options);
  add_choice<launch::Store>(
      *verb, "--store", options->store, {{"own", launch::Store::kOwn}, {"tcp", launch::Store::kTcp}},
      "Where ranks meet: own (authenticated, the default) or tcp (PyTorch's TCPStore, for jobs with Python ranks)");
  verb->add_option("--rendezvous-port", options->rendezvous_port, "Where the launcher listens; 0: the kernel chooses")
      ->check(CLI::Range(0, 65535));
  add_nodes(*verb, options->nodes);
  add_binding_options(*verb, options->binding);
  auto show = std::make_shared<bool>(false);
  verb->add_flag("--show-binding", *show, "Print where ranks would run, and start nothing")->group("Binding");
  add_output(*verb, *options);
  add_fate(*verb, *options);
  verb->prefix_command();  // the first word that is no flag begins the program, with or without "--" before it
  verb->footer("lockstep run -n N [--] PROGRAM [ARGUMENTS...]");
  verb->callback([verb, options, show, &action, &after_dashes] {
    const std::vector<std::string> words = verb->remaining();
    if (!words.empty() && words.front().starts_with("-")) throw CLI::ExtrasError(verb->get_name(), words);
    options->command = words;
    options->command.insert(options->command.end(), after_dashes.begin(), after_dashes.end());
    action = [options, show] {
      return *show ? show_binding(launch::local_ranks(*options), options->binding) : launch::run(*options);
    };
  });
}

void add_agent(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("agent", "A node's part of a job; lockstep run starts it")->group("");
  auto options = std::make_shared<launch::AgentOptions>();
  verb->add_option_function<std::string>(
          "--connect",
          [options](const std::string& word) {
            const std::size_t colon = std::min(word.rfind(':'), word.size());
            options->address = word.substr(0, colon);
            options->port = parse_number(std::string_view(word).substr(std::min(colon + 1, word.size())), "--connect",
                                         word, "is not ADDRESS:PORT");
          },
          "The launcher that leads")
      ->type_name("ADDRESS:PORT")
      ->required();
  verb->add_option("--number", options->number, "This node's place");
  verb->add_option("--token-file", options->token_file, "The job's token, instead of stdin");
  verb->callback([options, &action] { action = [options] { return launch::run_agent(*options); }; });
}

}  // namespace lockstep::app
