// What a packed file that is not complete yet holds, in a file beside it.
//
// A header (magic, source) and then records, each with its size and CRC-32C. It is read up to the first record that is
// not whole. Nothing is written to it before the samples that it tells of are on the disk.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <string>

#include <lockstep/base/fd.h>

#include "packed_format.h"

namespace lockstep::data {

class PackedJournal {
 public:
  struct Record {
    PackedEntry entry;  // of a sample
    std::string name;
    std::string reason;  // why it was left out; empty for a sample
  };
  using Source = std::array<std::uint8_t, 32>;

  // Begins a new journal in the place of what is there.
  static PackedJournal begin(const std::filesystem::path& path, const Source& source);

  // Goes on with one: hands each record to `use` until that says no; what follows is cut off. Throws UsageError when it
  // is of another source.
  static PackedJournal resume(const std::filesystem::path& path, const Source& source,
                              const std::function<bool(Record&&)>& use);

  // Remembered, not written.
  void add(const Record& record);

  // Writes what was added, and makes it last. Returns errno when that fails, else 0.
  [[nodiscard]] int commit();

 private:
  explicit PackedJournal(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::string pending_;
};

}  // namespace lockstep::data
