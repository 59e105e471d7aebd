#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output_file.h"

namespace lockstep::checkpoint {

// Writes a ZIP archive of stored entries, each aligned to 64 bytes, as torch.save does; with 64-bit sizes where they
// are needed.
class ZipWriter {
 public:
  explicit ZipWriter(OutputFile& file) : file_(file) {}

  void add(const std::string& name, std::span<const std::byte> bytes);
  void add(const std::string& name, std::string_view text) { add(name, std::as_bytes(std::span(text))); }

  // The list of entries, which ends the archive.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t start = 0, size = 0;
    std::uint32_t checksum = 0;
  };
  void write(std::string_view text);

  OutputFile& file_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::checkpoint
