#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/manifest.h>

namespace lockstep::checkpoint {

// Whether the file's size and header, or all of it, are those of the record. Throws UsageError that names the tensor,
// or the header, that is not; RuntimeError when reading fails.
void verify_header(const std::filesystem::path& path, const FileRecord& record);
void verify_file(const std::filesystem::path& path, const FileRecord& record);

// `part` is "tensor 'NAME' of" or "the header of".
UsageError damaged_part(const std::string& part, const std::filesystem::path& path, std::uint32_t found,
                        std::uint32_t expected);

}  // namespace lockstep::checkpoint
