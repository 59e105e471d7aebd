// Environment variables as checked values. A variable that is set but cannot be what it must be is a UsageError that
// names it, its value and what was expected; it is never ignored.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace lockstep::env {

// Nothing when the variable is not set or empty.
std::optional<std::string> get(const std::string& name);

// A whole decimal number in [min, max].
std::optional<std::int64_t> get_int(const std::string& name,
                                    std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                                    std::int64_t max = std::numeric_limits<std::int64_t>::max());

// 1, true, yes, on; 0, false, no, off.
std::optional<bool> get_bool(const std::string& name);

}  // namespace lockstep::env
