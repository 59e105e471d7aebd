#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep::data {

// Collective. Rank 0 runs `lockstep data fetch SET FOLDER`, with further flags if given, while the others wait, however
// long it takes. Throws RuntimeError on every rank when the set could not be brought; rank 0 has then printed why, and
// what to do about it.
void fetch_once(const Group& group, const std::string& set, const std::filesystem::path& folder,
                const std::vector<std::string>& flags = {});

}  // namespace lockstep::data
