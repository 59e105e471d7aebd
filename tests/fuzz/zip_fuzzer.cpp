#include <cstdint>

#include <lockstep/base/errors.h>

#include "checkpoint/zip_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto content = std::as_bytes(std::span(data, size));
  try {
    const lockstep::checkpoint::ZipArchive archive(content, "input");
    std::size_t bytes = 0;
    for (const auto& [name, entry] : archive.entries()) {
      archive.is_whole(entry);  // reads all of it
      bytes += entry.bytes.size();
    }
    if (bytes > size) __builtin_trap();  // entries do not overlap
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
