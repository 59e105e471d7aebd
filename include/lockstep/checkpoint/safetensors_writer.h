// Tensors into a safetensors file, as Python's safetensors writes and reads it.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include <lockstep/checkpoint/manifest.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

// Writes a new file: the header, padded to 8 bytes, then the tensors, those of large elements first and by name within
// a size, so that each is aligned to its elements. The bytes go from where they are to the file; there is no second
// copy. Returns once they are on the disk (fsync), with the checksums of what was written.
//
// Throws UsageError for tensors that the format cannot hold: a name twice, or bytes that do not fit the shape.
// RuntimeError when the file exists or cannot be written; then a part of it may be there.
FileRecord write_safetensors(const std::filesystem::path& path, std::span<const data::TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata = {});

}  // namespace lockstep::checkpoint
