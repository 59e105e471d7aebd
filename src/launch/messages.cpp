#include "messages.h"

#include <fmt/format.h>

#include "message_json.h"

namespace lockstep::launch {

std::string NodeInfo::name() const {
  const std::string who = fmt::format("{}, pid {}", host, pid);
  return number < 0 ? fmt::format("a node ({})", who) : fmt::format("node {} ({})", number, who);
}

Message refusal(const Error& error) {
  const ErrorParts& parts = error.parts();
  return {{"is", "refuse"},           {"message", parts.message},   {"operation", parts.operation},
          {"found", parts.found},     {"expected", parts.expected}, {"next", parts.next},
          {"code", error.exit_code()}};
}

void throw_refusal(const Message& message, const std::string& where) {
  ErrorParts parts{.message = message.at("message"),
                   .operation = message.at("operation"),
                   .found = message.at("found"),
                   .expected = message.at("expected"),
                   .next = message.at("next")};
  if (parts.operation.empty()) parts.operation = where;
  if (message.at("code") == static_cast<int>(kExitUsage)) throw UsageError(std::move(parts));
  throw RuntimeError(std::move(parts));
}

}  // namespace lockstep::launch
