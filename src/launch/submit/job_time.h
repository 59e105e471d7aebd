// A time limit as each scheduler writes it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep::launch {

// "48:00:00", as PBS reads it
std::string clock_time(std::chrono::seconds time);

// "2-00:00:00"
std::string slurm_time(std::chrono::seconds time);

// Rounded up, as Cobalt counts.
std::int64_t whole_minutes(std::chrono::seconds time);

}  // namespace lockstep::launch
