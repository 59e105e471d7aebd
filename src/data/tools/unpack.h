#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace lockstep::data {

struct UnpackLimits {
  std::uint64_t bytes = std::uint64_t{4} << 30;
  int files = 1'000'000;
};

// Unpacks the folder `top` of a tar (plain, or compressed by gzip, bzip2, xz or zstd) or zip archive into `target`, a
// folder that is there and empty. Nothing in the archive is trusted: only plain files and folders under `top` are
// taken; a link, a device, a name that leads elsewhere or is there twice, and more than the limits are refused with
// RuntimeError that names the archive. What was unpacked until then stays. All files and folders are on disk when it
// returns.
void unpack_folder(const std::filesystem::path& archive, const std::string& top, const std::filesystem::path& target,
                   const UnpackLimits& limits = {});

}  // namespace lockstep::data
