#include <lockstep/base/errors.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include <lockstep/base/log.h>
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

int report_errors(RankId self, int (*body)(int, char**), int argc, char** argv) {
  const auto report = [self](const std::optional<RankId>& rank, const char* what) {
    const std::string text = log::prefix(rank.value_or(self)) + "error: " + what + "\n";
    std::fflush(stdout);
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  try {
    return body(argc, argv);
  } catch (const Error& error) {
    report(error.parts().rank, error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    // From a library that does not know our errors; its text may hold anything.
    report({}, escape_controls(error.what(), /*keep_newlines=*/true).c_str());
    return kExitFailure;
  }
}

}  // namespace lockstep
