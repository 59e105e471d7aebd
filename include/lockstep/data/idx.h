// The idx format of MNIST: a magic number, the sizes of the dimensions, then bytes; plain or gzip-compressed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

struct IdxArray {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> bytes;
};

// Reads an array of unsigned bytes with `dimensions` dimensions. Throws UsageError that names the file and what is
// wrong with it: missing, another magic number, larger than 1 GiB, truncated, longer than it says, or damaged. The
// content is never trusted: sizes are checked before memory is taken.
IdxArray read_idx(const std::filesystem::path& path, int dimensions);

// The same from a file's content in memory; `name` is for the errors.
IdxArray parse_idx(std::span<const std::byte> content, int dimensions, const std::string& name);

}  // namespace lockstep::data
