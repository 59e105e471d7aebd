#include <lockstep/base/errors.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include <lockstep/base/log.h>
#include <lockstep/base/rank_page.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

void append_line(std::string& text, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  text.append("\n  ").append(name).append(": ").append(escape_controls(value));
}

std::string compose(const ErrorParts& parts) {
  std::string text = escape_controls(parts.message);
  append_line(text, "operation", parts.operation);
  append_line(text, "found", parts.found);
  append_line(text, "expected", parts.expected);
  append_line(text, "next", parts.next);
  return text;
}

}  // namespace

Error::Error(ErrorParts parts) : std::runtime_error(compose(parts)), parts_(std::move(parts)) {}

RuntimeError system_error(const std::string& action, int error_number) {
  return RuntimeError(action + ": " + std::strerror(error_number));
}

int report_error(RankId self, const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  // One from a library that does not know our errors may hold anything.
  const std::string message = ours != nullptr ? ours->what() : escape_controls(error.what(), /*keep_newlines=*/true);
  const std::optional<RankId> failed = ours != nullptr ? ours->parts().rank : std::nullopt;
  if (RankPage* page = RankPage::of_this_process()) page->fail(message);
  const std::string text = log::prefix(failed.value_or(self)) + "error: " + message + "\n";
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return ours != nullptr ? ours->exit_code() : static_cast<int>(kExitFailure);
}

int report_errors(RankId self, int (*body)(int, char**), int argc, char** argv) {
  try {
    return body(argc, argv);
  } catch (const std::exception& error) {
    return report_error(self, error);
  }
}

}  // namespace lockstep
