#include "watch.h"

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "../base/flight_recorder.h"
#include "../base/post_mortem_file.h"

namespace lockstep::comm {

Watch::Watch(Options options) : options_(std::move(options)) {
  if (options_.monitor) options_.monitor->watch(options_.group, options_.world_ranks);
}

Watch::~Watch() {
  if (options_.monitor) options_.monitor->forget(options_.group);
}

std::shared_ptr<Watch> Watch::make_part(const std::string& name, const std::vector<int>& members) const {
  Options part{.group = options_.group + "/" + name,
               .world_ranks = {},
               .loss = options_.loss,
               .monitor = options_.monitor,
               .agreement = nullptr};
  for (const int member : members) part.world_ranks.push_back(options_.world_ranks[static_cast<std::size_t>(member)]);
  return std::make_shared<Watch>(std::move(part));
}

Operation Watch::begin(const char* name, const std::vector<at::Tensor>& tensors, const std::string& detail) {
  Operation operation{
      .name = name, .sequence = ++sequence_, .tensor = tensors.empty() ? "" : describe_tensor(tensors.front())};
  operation.ticket =
      FlightRecorder::instance().start(options_.group, operation.name, operation.sequence, operation.tensor);
  try {
    if (options_.agreement) options_.agreement->require(operation, detail);
  } catch (...) {
    end(operation, false);
    throw;
  }
  return operation;
}

Operation Watch::begin_message(const char* name, const at::Tensor& tensor) {
  Operation operation{.name = name, .sequence = 0, .tensor = describe_tensor(tensor)};
  operation.ticket = FlightRecorder::instance().start(options_.group, operation.name, 0, operation.tensor);
  return operation;
}

void Watch::end(const Operation& operation, bool good) {
  FlightRecorder::instance().end(operation.ticket, good);
}

TimeoutError Watch::too_late(const Operation& operation, std::chrono::milliseconds timeout) const {
  std::string absent;
  if (options_.monitor) {
    try {
      const auto whereabouts = options_.monitor->ask(options_.group, /*is_end=*/true);
      if (operation.sequence != 0) absent = describe_others(whereabouts, options_.world_ranks, operation);
    } catch (const std::exception& error) {
      log::debug("the other ranks cannot be asked where they are: {}", error.what());
    }
  }
  const std::string message = fmt::format("{} timed out after {}", operation.describe(), format_duration(timeout));
  const std::string file = write_post_mortem(message + (absent.empty() ? "" : "; " + absent));
  return TimeoutError({.message = message,
                       .found = absent,
                       .next = file.empty()
                                   ? "see what the other ranks were doing; raise the timeout if one is only slow"
                                   : fmt::format("lockstep info --post-mortem {}", file.substr(0, file.rfind('/')))});
}

RuntimeError Watch::given_up(const Operation& operation) const {
  const std::string message = fmt::format("{} was given up: {}", operation.describe(), options_.loss->reason());
  write_post_mortem(message);
  return RuntimeError(message);
}

}  // namespace lockstep::comm
