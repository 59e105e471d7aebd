// What `lockstep info` tells: this build, this machine, and what the launch environment says.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

// Throws UsageError when the launch environment contradicts itself.
nlohmann::ordered_json machine_report();

// The same for a terminal.
std::string machine_report_text(const nlohmann::ordered_json& report);

}  // namespace lockstep
