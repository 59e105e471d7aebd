// Digests as text: "sha256:HEX" and "md5:HEX".
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::data {

bool is_digest(std::string_view text);

// That of a file, by the algorithm that `like` names; `like` must be a digest.
std::string digest_of_file(const std::filesystem::path& path, std::string_view like);

}  // namespace lockstep::data
