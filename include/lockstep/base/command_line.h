// The one way in which our programs read their arguments: CLI11 underneath, our messages on top.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep {

// Parses argv into what `app` declares. Returns an exit code when there is nothing left to do (help was asked for and
// printed), else nothing. Throws UsageError for an unknown flag or verb, with the nearest name that exists, and for a
// value that does not fit.
//
// A program that starts another one passes `after_dashes`, which takes what stands behind the first lone "--", unread.
std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv,
                                      std::vector<std::string>* after_dashes = nullptr);

}  // namespace lockstep
