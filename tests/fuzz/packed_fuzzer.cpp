// Any bytes as a packed file. Checksums are made to fit first, as an attacker would, so that what they guard is
// reached.
#include <cstdint>
#include <vector>

#include "data/packed_view.h"

namespace {

using namespace lockstep;
using namespace lockstep::data;

void fit_checksums(std::vector<std::byte>& file) {
  if (file.size() < kPackedPage) return;
  PackedHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  for (PackedSection* section : {&header.index, &header.class_names, &header.sample_names}) {
    if (section->offset > file.size() || section->bytes > file.size() - section->offset) continue;
    section->checksum = crc32c(std::span(file).subspan(section->offset, section->bytes));
  }
  std::memset(file.data() + sizeof(header), 0, kPackedPage - sizeof(header));
  const PackedHeaderPage page = header_page(header);
  std::memcpy(file.data(), page.data(), page.size());
}

void read_all(std::span<const std::byte> file) {
  try {
    const PackedView view(file, "fuzzed.lsp");
    unsigned sum = 0;
    for (std::int64_t i = 0; i < view.size(); ++i) {
      sum += static_cast<unsigned>(view.name(i).size());
      try {
        for (const std::byte byte : view.get(i).bytes) sum += static_cast<unsigned>(byte);
      } catch (const SampleError&) {
        ++sum;
      }
    }
    view.check_rest();
    static volatile unsigned sink = 0;
    sink = sum;
  } catch (const PackedError&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> file(reinterpret_cast<const std::byte*>(data),
                              reinterpret_cast<const std::byte*>(data) + size);
  read_all(file);
  fit_checksums(file);
  read_all(file);
  return 0;
}
