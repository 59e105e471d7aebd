#include <lockstep/train/arguments.h>

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/config/compose.h>

namespace lockstep::train {
namespace {

struct KeyFlag {
  const char* names;  // the first is the one that --print-config shows
  const char* path;
  const char* type;  // empty: a switch, which sets the key to true
  const char* help;
};

constexpr KeyFlag kKeyFlags[] = {
    {"-a,--arch", "model.name", "MODEL", "A model by name, such as resnet50"},
    {"--stem", "model.stem", "KIND", "How a ResNet begins: imagenet, cifar or cifar3x3"},
    {"--pretrained", "model.pretrained", "FILE", "Weights to begin with"},
    {"-j,--workers", "data.workers", "N", "Threads of each rank that load data"},
    {"--epochs", "epochs", "N", "How long to train"},
    {"-b,--b,--batch,--batch-size", "batch_size_per_rank", "N", "Samples of each rank in one forward"},
    {"--lr,--learning-rate", "optimizer.lr", "RATE", "Learning rate"},
    {"--momentum", "optimizer.momentum", "M", "Momentum"},
    {"--wd,--weight-decay", "optimizer.weight_decay", "W", "Weight decay"},
    {"--desired-acc", "stop.accuracy", "A", "Stop at this test accuracy: 0.75, or 75 for percent"},
    {"--seed", "seed", "N", "Of all chance"},
    {"--deterministic", "deterministic", "", "Two runs are equal bit by bit"},
    {"-p,--print-freq", "log_every", "STEPS", "Steps between two lines of metrics"},
    {"--opt-level,--precision", "precision.level", "LEVEL", "O0 to O3, or fp32, fp16, bf16"},
    {"--loss-scale", "precision.loss_scale", "SCALE", "dynamic, none or a number"},
    {"--keep-batchnorm-fp32", "precision.keep_batchnorm_fp32", "BOOL", "Batch normalizations in fp32"},
    {"--sync-bn,--sync_bn", "parallel.sync_batch_norm", "", "Batch normalizations over all ranks"},
    {"--mode", "parallel.mode", "MODE", "ddp, optimizer, zero, data-parallel, sync, barrier or none"},
    {"--backend,--dist-backend", "parallel.backend", "NAME", "How ranks talk: auto, local, gloo, mpi, ccl, nccl"},
    {"--device", "device", "DEVICE", "auto, cpu or cuda"},
    {"--engine", "engine", "ENGINE", "Whose code computes: fused is ours, reference libtorch's"},
    {"--nvtx", "profile.nvtx", "KIND", "Ranges for profilers: off, steps or ops"},
    {"--trace", "profile.trace", "steps=FIRST:END", "A timeline of these steps of all ranks, in trace.json of the run"},
    {"--output", "output", "DIR", "The run's folder"},
};

std::string first_of(const std::string& names) {
  return names.substr(0, names.find(','));
}

// CLI11 takes whatever follows as the value; one that is empty is most often a variable of a shell that is not set.
std::string require_value(const std::string& value) {
  if (value.empty()) return "its value is empty";
  return value.starts_with("--") ? fmt::format("a value is missing before '{}'", value) : "";
}

// Whoever comes from the ImageNet script knows it.
void explain_gpu(const std::string& number) {
  throw UsageError({.message = "there is no --gpu: a rank takes the GPU of its number among those that it sees",
                    .next = fmt::format("CUDA_VISIBLE_DEVICES={} lockstep train ...", number)});
}

void add_key_flags(CLI::App& verb, Arguments& arguments) {
  verb.add_option_function<std::string>("--gpu", explain_gpu)->group("");
  for (const KeyFlag& flag : kKeyFlags) {
    const auto take = [&arguments, flag](const std::string& value) {
      arguments.shorthands.push_back({first_of(flag.names), flag.path, value});
    };
    const std::string help = std::string(flag.help) + " (" + flag.path + ")";
    CLI::Option* option =
        *flag.type != '\0'
            ? verb.add_option_function<std::string>(flag.names, take, help)->type_name(flag.type)->check(require_value)
            : verb.add_flag_callback(
                  flag.names, [take] { take("true"); }, help);
    option->group("Shorthands for keys");
  }
}

// Who knows a key tries it as a flag: "--steps 20".
void explain_keys(CLI::App& verb) {
  RunConfig config;
  for (const auto& key : schema_of(config).keys()) {
    const std::string flag = "--" + key.path;
    if (verb.get_option_no_throw(flag) != nullptr) continue;
    const auto explain = [flag, path = key.path](const std::string& value) {
      throw UsageError({.message = fmt::format("there is no flag {}, but a key of that name", flag),
                        .next = fmt::format("--set {}={}", path, value.empty() ? "VALUE" : value)});
    };
    verb.add_option_function<std::string>(flag, explain)->expected(0, 1)->group("");
  }
}

// `--set a=1 b=2` looks as if both were for --set. Data may be called so, of course.
void require_no_assignment(const std::string& word, const std::vector<std::string>& assignments) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || word.find('/') < equals || config::is_source(word)) return;
  if (std::filesystem::exists(word)) return;
  std::vector<std::string> all = assignments;
  all.push_back(word);
  throw UsageError({.message = "--set takes one KEY=VALUE, and there is no data of that name",
                    .found = word,
                    .next = fmt::format("--set {}", fmt::join(all, " --set "))});
}

// After the flags, whose mistakes may be why a word is one.
void add_words(CLI::App& verb, Arguments& arguments) {
  const auto take_word = [&arguments](const std::string& word) {
    if (word.empty()) throw UsageError("an empty word is neither a config nor data");
    require_no_assignment(word, arguments.assignments);
    arguments.words.push_back(word);
  };
  verb.add_option_function<std::string>("CONFIG", take_word, "What to train: a .yaml file, or a section of it")
      ->type_name(".yaml[:SECTION]");
  verb.add_option_function<std::string>("DATA", take_word, "Where the data is, with a config or without (data.path)")
      ->type_name("PATH");
}

void add_config(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--config", arguments.section, "The section, if it does not stand behind the file")
      ->type_name("SECTION")
      ->check(require_value);
  verb.add_option("--data", arguments.data, "Where the data is (data.path)")->type_name("PATH")->check(require_value);
  verb.add_option("--set", arguments.assignments, "Change a key; may be repeated, and wins over all else")
      ->type_name("KEY=VALUE")
      ->check(require_value)
      ->allow_extra_args(false);
  verb.add_option("--resume", arguments.resume,
                  "auto: go on from the newest good checkpoint, if there is one; PATH: from that one; none: begin anew")
      ->type_name("auto|PATH|none")
      ->check(require_value);
  verb.add_flag("-e,--evaluate", arguments.evaluate, "Do not train; evaluate the weights");
  verb.add_flag("--print-config", arguments.print_config,
                "Print the config with where each value came from, and train nothing");
  CLI::Option* keys = verb.add_flag("--list-keys", arguments.list_keys, "Print all keys that a config may have");
  verb.add_flag("--markdown", arguments.markdown, "With --list-keys: as docs/config-keys.md")->needs(keys);
}

void add_ranks(CLI::App& verb, RankArguments& ranks) {
  const auto in_group = [](CLI::Option* option) { option->group("Ranks"); };
  in_group(verb.add_option("-n,--ranks", ranks.ranks, "Start so many ranks; without it, be one")
               ->check(CLI::Range(1, 65'536)));
  in_group(verb.add_option("--ranks-per-node,--nproc-per-node", ranks.ranks_per_node,
                           "Ranks on each node; else one for each GPU, or one")
               ->check(CLI::Range(1, 4096)));
  in_group(verb.add_option("--dist-url", ranks.dist_url,
                           "Where nodes meet, each started by hand: tcp://HOST:PORT, HOST being that of rank 0; env:// "
                           "takes all from the environment"));
  in_group(verb.add_option("--world-size", ranks.nodes, "Number of nodes, as in the ImageNet script")
               ->check(CLI::Range(1, 65'536)));
  in_group(verb.add_option("--rank", ranks.node, "This node's number, from 0")->check(CLI::Range(0, 65'535)));
  in_group(verb.add_flag("--multiprocessing-distributed", ranks.each_gpu,
                         "One rank for each GPU of this node; with --dist-url that is so anyway"));
}

}  // namespace

void add_arguments(CLI::App& verb, Arguments& arguments) {
  add_config(verb, arguments);
  add_ranks(verb, arguments.ranks);
  add_key_flags(verb, arguments);
  explain_keys(verb);
  add_words(verb, arguments);
  verb.footer(
      "lockstep train configs/cifar100.yaml:bs256 -n 2 --set optimizer.lr=0.2\n"
      "lockstep train -a resnet50 -b 64 /data/imagenet");
}

}  // namespace lockstep::train
