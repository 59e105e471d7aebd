#pragma once
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/report/data.h>

namespace lockstep::report {

// Reads what a verb of `lockstep bench` prints with --json. Which verb is told by its field "kind", or by the fields
// that only it has. Fills `content` and `machine` of the result. Throws UsageError for what is no JSON or from
// elsewhere, and beyond 10,000 rows.
Input parse_bench(std::string_view text);

// The machine in a few lines: from what `lockstep info --json` prints, or a part of it.
std::vector<Fact> machine_facts(const nlohmann::json& machine);

}  // namespace lockstep::report
