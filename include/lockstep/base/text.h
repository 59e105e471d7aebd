// Text for people: foreign text made harmless, near misses named, numbers with separators and units.
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Replaces control characters (and bytes that are not UTF-8) by \n, \t, \x1b and the like, so that no file name or
// variable can move the cursor or forge a line.
std::string escape_controls(std::string_view text, bool keep_newlines = false);

// The candidate that `word` was most likely meant to be, or an empty string when none is close.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'optimizer'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::vector<std::string> split(std::string_view text, char separator);

// "60,000"
std::string format_count(std::int64_t count);

// "1.5 GiB"
std::string format_bytes(std::uint64_t bytes);

// "850 ms", "12.3 s", "1 min 11 s", "2 h 5 min"
std::string format_duration(std::chrono::duration<double> duration);

// "rank 2", "ranks 0, 2"
std::string format_ranks(std::span<const int> ranks);

// "a, b, c and 12 more": the first `most` of them.
std::string format_some(std::span<const std::string> words, std::size_t most);

// "1 rank", "2 ranks"
std::string format_plural(std::int64_t count, std::string_view noun);

}  // namespace lockstep
