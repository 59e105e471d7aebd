// Hardware threads by the operating system's numbers, in the text that Linux writes for them: "0-27,56-83".
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// In the order of the text; nothing when it is no such list, or an empty one.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

// Neighbours become a range. Empty when there are none.
std::string format_cpu_list(std::span<const int> cpus);

}  // namespace lockstep
