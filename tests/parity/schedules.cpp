// The C++ side of schedules.py: reads cases, one a line, from stdin, and answers each with a line of rates.
//
//   TEXT <tab> RATE <tab> COUNT          the rates of COUNT epochs
//   TEXT <tab> RATE <tab> METRIC...      the rate after each metric
#include <iostream>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/optim/learning_rate.h>
#include <lockstep/optim/make_schedule.h>

namespace {

using lockstep::optim::LearningRate;

int body(int, char**) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto words = lockstep::split(line, '\t');
    LearningRate learning_rate(lockstep::optim::parse_schedule(words.at(0)), {.rate = std::stod(words.at(1))});
    const bool has_metrics = words.size() > 3;
    const std::int64_t count = has_metrics ? std::ssize(words) - 2 : std::stoll(words.at(2));
    for (std::int64_t epoch = 0; epoch < count; ++epoch) {
      learning_rate.move_to({.step = epoch, .epoch = static_cast<double>(epoch)});
      if (has_metrics) learning_rate.observe(std::stod(words.at(static_cast<std::size_t>(epoch) + 2)));
      std::cout << fmt::format("{:.17g} ", learning_rate.rate());
    }
    std::cout << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
