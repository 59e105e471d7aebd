// The program's log, on spdlog's default logger: lines on stderr, each with the rank's label when there are several
// ranks. Rank 0 speaks for all: other ranks print errors only, unless LOCKSTEP_LOG holds `all`.
//
// LOCKSTEP_LOG is a comma-separated list of `all` and one level: debug, info (the default), warning, error, off.
#pragma once
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/rank.h>

namespace lockstep::log {

enum class Level { kDebug, kInfo, kWarning, kError };

struct Options {
  RankId rank;
  bool all_ranks = false;  // as LOCKSTEP_LOG=all
};

// Call once, when the rank is known. Throws UsageError for a LOCKSTEP_LOG that it does not understand.
void configure(const Options& options);

// From now on every line of this rank, from level info on, is written to a file too, with the time, after what is
// there. Call it before other threads log. A file that cannot be opened or written is a warning, told once.
void write_also_to(const std::filesystem::path& file);

// Writes into that file alone, if there is one: for what is printed by others. Control characters but newlines are
// escaped.
void write_to_file(const std::string& text);

// "[2/4] " for one of several ranks, or nothing when it is alone or when `lockstep run --label` labels its lines.
std::string prefix(RankId rank);

// Writes one line. Control characters in it are escaped.
void write(Level level, const std::string& message);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lockstep::log
