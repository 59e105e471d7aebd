#include <lockstep/optim/learning_rate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::optim {
namespace {

// In the order of Scaling.
const std::array<std::string, 3> kScalingNames = {"none", "linear", "sqrt"};

constexpr const char* kBest = "plateau_best";  // absent before the first metric

double required(const std::map<std::string, double>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw UsageError(fmt::format("the state of the learning rate has no '{}'", name));
  return found->second;
}

// From 0 up to below `limit`; not NaN.
double required(const std::map<std::string, double>& state, const std::string& name, double limit) {
  const double value = required(state, name);
  if (!(value >= 0 && value < limit)) {
    throw UsageError({.message = fmt::format("'{}' in the state of the learning rate is wrong", name),
                      .found = fmt::format("{}", value),
                      .expected = "a number from 0 up"});
  }
  return value;
}

int required_count(const std::map<std::string, double>& state, const std::string& name) {
  return static_cast<int>(required(state, name, 1 << 30));
}

constexpr double kSteps = 1LL << 53;  // a double counts up to here

}  // namespace

Scaling parse_scaling(const std::string& name) {
  for (std::size_t i = 0; i < kScalingNames.size(); ++i) {
    if (kScalingNames[i] == name) return static_cast<Scaling>(i);
  }
  throw UsageError({.message = fmt::format("there is no scaling '{}'{}", name, did_you_mean(name, kScalingNames)),
                    .expected = "none, linear or sqrt"});
}

double scale_of(Scaling scaling, int ranks) {
  if (scaling == Scaling::kNone) return 1;
  return scaling == Scaling::kLinear ? ranks : std::sqrt(ranks);
}

LearningRate::LearningRate(Schedule schedule, const LearningRateOptions& options)
    : schedule_(std::move(schedule)), options_(options) {
  if (!(options.rate > 0 && std::isfinite(options.rate))) {
    throw UsageError({.message = "the learning rate makes no sense",
                      .found = fmt::format("{}", options.rate),
                      .expected = "a number above 0"});
  }
  if (options.ranks < 1) throw UsageError(fmt::format("a learning rate for {} ranks makes no sense", options.ranks));
}

double LearningRate::time() const {
  if (options_.clock == Clock::kSteps) return static_cast<double>(position_.step);
  return options_.clock == Clock::kEpochs ? std::floor(position_.epoch) : position_.epoch;
}

double LearningRate::rate(double single_rank) const {
  const double scale = scale_of(options_.scaling, options_.ranks);
  return schedule_.rate(time(), {.base = single_rank * scale, .scale = scale, .reductions = plateau_.reductions});
}

bool LearningRate::observe(double metric) {
  if (!schedule_.plateau() || time() < schedule_.plateau_start()) return false;
  const double before = rate();
  return optim::observe(plateau_, *schedule_.plateau(), metric) && rate() < before;
}

std::map<std::string, double> LearningRate::state() const {
  std::map<std::string, double> state = {{"step", static_cast<double>(position_.step)},
                                         {"epoch", position_.epoch},
                                         {"plateau_bad", plateau_.bad},
                                         {"plateau_cooling", plateau_.cooling},
                                         {"plateau_reductions", plateau_.reductions}};
  if (plateau_.best) state[kBest] = *plateau_.best;
  return state;
}

void LearningRate::load_state(const std::map<std::string, double>& state) {
  const Position position{.step = static_cast<std::int64_t>(required(state, "step", kSteps)),
                          .epoch = required(state, "epoch", kSteps)};
  PlateauState plateau{.best = std::nullopt,
                       .bad = required_count(state, "plateau_bad"),
                       .cooling = required_count(state, "plateau_cooling"),
                       .reductions = required_count(state, "plateau_reductions")};
  if (state.contains(kBest)) plateau.best = state.at(kBest);
  if (plateau.best && std::isnan(*plateau.best)) {
    throw UsageError({.message = fmt::format("'{}' in the state of the learning rate is wrong", kBest),
                      .found = "nan",
                      .expected = "a metric"});
  }
  const std::vector<std::string> names = {"step",        "epoch",           "plateau_best",
                                          "plateau_bad", "plateau_cooling", "plateau_reductions"};
  for (const auto& [name, value] : state) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw UsageError(
        fmt::format("the state of the learning rate has an unknown '{}'{}", name, did_you_mean(name, names)));
  }
  position_ = position;
  plateau_ = plateau;
}

}  // namespace lockstep::optim
