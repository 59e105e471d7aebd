// A packed file's bytes, wherever they lie, as samples. Nothing in them is trusted.
#pragma once
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/data/packed.h>

#include "packed_format.h"

namespace lockstep::data {

class PackedView {
 public:
  // Checks the header, the whole index and the classes. `file` must outlive it; `path` is for messages. Throws
  // PackedError.
  PackedView(std::span<const std::byte> file, std::string path);

  const PackedHeader& header() const { return header_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t size() const { return static_cast<std::int64_t>(header_.samples); }

  // The bytes are inside the file, whatever became of the index since it was checked. Throws SampleError when the
  // sample is damaged.
  Picture get(std::int64_t index) const;

  // As stored, control characters escaped; "sample 17" when the names are damaged.
  std::string name(std::int64_t index) const;

  // What get() and the constructor leave out: throws PackedError when names are damaged or gaps hold anything.
  void check_rest() const;

  PackedError damaged(const std::string& what, std::string found = "", std::string expected = "") const;

 private:
  void read_header();
  void check_sections() const;
  void check_index() const;
  void check_checksum(const PackedSection& section, const std::string& what) const;
  bool names_are_good() const;
  std::span<const std::byte> bytes_of(const PackedSection& section) const;
  PackedEntry entry(std::uint64_t index) const;

  std::span<const std::byte> file_;
  std::string path_;
  PackedHeader header_;
  std::vector<std::string> classes_;
  mutable std::once_flag names_checked_;
  mutable bool names_good_ = false;
};

}  // namespace lockstep::data
