#include "together.h"

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

namespace lockstep::train {
namespace {

using Json = nlohmann::json;

// Made harmless, which makes it UTF-8 too.
std::string plain(const std::string& text) {
  return escape_controls(text, /*keep_newlines=*/true);
}

Json to_json(const Error& error) {
  const ErrorParts& parts = error.parts();
  return {{"code", error.exit_code()},   {"message", plain(parts.message)},   {"operation", plain(parts.operation)},
          {"found", plain(parts.found)}, {"expected", plain(parts.expected)}, {"next", plain(parts.next)}};
}

[[noreturn]] void throw_copy(const Json& told, RankId rank) {
  const ErrorParts parts{.message = told.at("message"),
                         .operation = told.at("operation"),
                         .found = told.at("found"),
                         .expected = told.at("expected"),
                         .next = told.at("next"),
                         .rank = rank};
  if (told.at("code") == static_cast<int>(kExitUsage)) throw UsageError(parts);
  throw RuntimeError(parts);
}

}  // namespace

void together(const Group& group, const std::function<void()>& body) {
  std::exception_ptr own;
  Json told;  // null: all is well
  try {
    body();
  } catch (const Error& error) {
    own = std::current_exception();
    told = to_json(error);
  } catch (const std::exception& error) {
    own = std::current_exception();
    told = to_json(RuntimeError(plain(error.what())));
  }
  const std::vector<Json> all = group.all_gather_json(told);
  const auto first = std::find_if(all.begin(), all.end(), [](const Json& one) { return !one.is_null(); });
  if (first == all.end()) return;
  const RankId failed{static_cast<int>(first - all.begin()), group.size()};
  if (own && (failed.rank == group.rank() || told != *first)) std::rethrow_exception(own);
  throw_copy(*first, failed);
}

}  // namespace lockstep::train
