// checkpoint.json. A checksum that is right is put behind each input, as a forger would do it, or nothing but damaged
// checksums would be tested.
#include <span>
#include <string>

#include <fmt/format.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/manifest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string content(reinterpret_cast<const char*>(data), size);
  content += fmt::format(",\n \"crc32c\": \"{:08x}\"\n}}\n", lockstep::crc32c(std::as_bytes(std::span(content))));
  try {
    const lockstep::checkpoint::Manifest manifest = lockstep::checkpoint::parse_manifest(content, "input");
    if (lockstep::checkpoint::to_json(manifest) != content) __builtin_trap();
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
