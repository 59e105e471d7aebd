// What bash reads, written so that it reads what was meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launch {

// `word` as bash must see it to take it for that one word: bare where that is safe, else in quotes.
std::string quote(std::string_view word);
std::vector<std::string> quote(const std::vector<std::string>& words);

// One command out of parts, each a list of words that are ready for bash: on one line or, where it would grow too long,
// each part on lines of its own.
std::string one_command(const std::vector<std::vector<std::string>>& parts);

}  // namespace lockstep::launch
