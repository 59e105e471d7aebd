#include <lockstep/bench/compare.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "compare_ratios.h"
#include "embedded.h"
#include "turn_taker.h"

namespace lockstep::bench {
namespace {

using Tell = std::function<void(const std::string&)>;

// All of malloc's memory comes from one heap that is never trimmed.
const std::map<std::string, std::string> kTuned = {{"MALLOC_MMAP_THRESHOLD_", "4294967296"},
                                                   {"MALLOC_TRIM_THRESHOLD_", "8589934592"},
                                                   {"MALLOC_TOP_PAD_", "268435456"}};

// A side with its program, as long as it takes part.
struct Player {
  ComparedSide side;
  std::unique_ptr<TurnTaker> taker;
};

std::vector<std::string> on_ranks(const CompareOptions& options, std::vector<std::string> command, bool is_python) {
  if (options.ranks == 1) return command;
  std::vector<std::string> words = {options.launcher, "run", "-n", std::to_string(options.ranks)};
  if (is_python) words.insert(words.end(), {"--store", "tcp"});
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> our_command(const CompareOptions& options, const ComparedModel& model) {
  return on_ranks(options,
                  {options.program, "bench", "turns", "--model", model.model, "--stem", model.stem, "--classes",
                   std::to_string(model.classes), "--batch", std::to_string(model.batch), "--device", options.device,
                   "--precision", options.precision, "--engine", options.engine},
                  /*is_python=*/false);
}

std::vector<std::string> peer_command(const CompareOptions& options, const ComparedModel& model,
                                      const std::string& variant) {
  return on_ranks(
      options,
      {options.python, "-c", std::string(embedded::compare_peer_py), model.name, std::to_string(model.classes),
       std::to_string(model.batch), options.device, options.precision, variant},
      /*is_python=*/true);
}

std::string describe(const ComparedSide& side) {
  return (side.tuned ? "tuned " : "") + side.name;
}

// The number of the model's parameters.
std::int64_t start(Player& player, const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& environment) {
  constexpr auto kPatience = std::chrono::minutes(20);  // torch.compile takes minutes
  player.taker = std::make_unique<TurnTaker>(command, environment);
  const Ready ready = player.taker->wait_until_ready(kPatience);
  player.side.about = ready.about;
  return ready.parameters;
}

double take_turn(Player& player, double seconds) {
  const Turn turn = player.taker->take(std::chrono::duration<double>(seconds));
  player.side.peak_memory = std::max(player.side.peak_memory, turn.peak_memory);
  return turn.samples_per_second;
}

// What a variant of PyTorch cannot do is its own affair.
template <typename Action>
void try_as(Player& player, const ComparedModel& model, const Tell& tell, const Action& action) {
  try {
    action();
  } catch (const RuntimeError& error) {
    player.taker.reset();
    const std::string& found = error.parts().found;
    player.side.failure = error.parts().message + (found.empty() ? "" : ": " + found);
    tell(fmt::format("{}, {}: {}", model.name, describe(player.side), player.side.failure));
  }
}

void start_peer(Player& player, const CompareOptions& options, const ComparedModel& model, std::int64_t parameters,
                const Tell& tell) {
  std::int64_t theirs = parameters;
  try_as(player, model, tell, [&] {
    std::map<std::string, std::string> environment;
    // One process compiles, where the others are asked for nothing. For a GPU it is a hundred kernels.
    if (options.device != "cuda") environment.emplace("TORCHINDUCTOR_COMPILE_THREADS", "1");
    if (player.side.tuned) environment.insert(kTuned.begin(), kTuned.end());
    theirs = start(player, peer_command(options, model, player.side.name), environment);
  });
  if (theirs == parameters) return;
  throw RuntimeError({.message = fmt::format("'{}' is not the same model on both sides", model.name),
                      .found = fmt::format("{} parameters here, {} in PyTorch", parameters, theirs)});
}

std::vector<std::string> variants_for(const CompareOptions& options, const ComparedModel& model) {
  std::vector<std::string> chosen = options.variants.empty() ? compared_variants(options.device) : options.variants;
  if (!model.has_layout) std::erase_if(chosen, [](const auto& name) { return name.starts_with("channels-last"); });
  return chosen;
}

// A first round, which does not count, tells which variant gets a process with another malloc.
void add_tuned(std::vector<Player>& peers, const CompareOptions& options, const ComparedModel& model,
               std::int64_t parameters, const Tell& tell) {
  const Player* best = nullptr;
  double greatest = 0;
  for (Player& peer : peers) {
    if (!peer.taker) continue;
    double speed = 0;
    try_as(peer, model, tell, [&] { speed = take_turn(peer, options.seconds); });
    if (speed <= greatest) continue;
    greatest = speed;
    best = &peer;
  }
  if (best == nullptr || options.device == "cuda") return;
  Player tuned{.side = {.name = best->side.name, .tuned = true}, .taker = nullptr};
  start_peer(tuned, options, model, parameters, tell);
  peers.push_back(std::move(tuned));
}

CompareRow compare(const CompareOptions& options, const ComparedModel& model, const Tell& tell) {
  Player ours{.side = {.name = "lockstep"}, .taker = nullptr};
  const std::int64_t parameters = start(ours, our_command(options, model), {});
  take_turn(ours, options.seconds);
  std::vector<Player> peers;
  if (!options.python.empty()) {
    for (const std::string& variant : variants_for(options, model)) {
      peers.push_back({.side = {.name = variant}, .taker = nullptr});
      start_peer(peers.back(), options, model, parameters, tell);
    }
    add_tuned(peers, options, model, parameters, tell);
  }
  for (int round = 0; round < options.rounds; ++round) {
    ours.side.samples_per_second.push_back(take_turn(ours, options.seconds));
    std::string line = fmt::format("{}, round {} of {}: lockstep {:.1f}", model.name, round + 1, options.rounds,
                                   ours.side.samples_per_second.back());
    for (Player& peer : peers) {
      if (!peer.taker) continue;
      try_as(peer, model, tell, [&] { peer.side.samples_per_second.push_back(take_turn(peer, options.seconds)); });
      if (peer.taker) line += fmt::format(", {} {:.1f}", describe(peer.side), peer.side.samples_per_second.back());
    }
    tell(line + " samples/s");
  }
  CompareRow row{.model = model, .ours = std::move(ours.side)};
  for (Player& peer : peers) row.peers.push_back(std::move(peer.side));
  conclude(row);
  return row;
}

void require_variants(const CompareOptions& options) {
  const auto& known = compared_variants(options.device);
  for (const std::string& variant : options.variants) {
    if (std::find(known.begin(), known.end(), variant) != known.end()) continue;
    throw UsageError({.message = fmt::format("there is no variant '{}'{}", variant, did_you_mean(variant, known)),
                      .expected = fmt::format("of {}", fmt::join(known, ", "))});
  }
}

}  // namespace

std::vector<CompareRow> measure_compare(const CompareOptions& options, const Tell& tell) {
  require_variants(options);
  std::vector<CompareRow> rows;
  for (const ComparedModel& model : options.models) rows.push_back(compare(options, model, tell));
  return rows;
}

}  // namespace lockstep::bench
