// A data set in one file, which `lockstep data pack` makes: an index with checksums, and pictures as JPEG, PNG or
// pixels. docs/data/packed.md describes the format.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/data/picture.h>

namespace lockstep::data {

class PackedView;

// A packed file that cannot be used as a whole: truncated, damaged, not complete, or none at all.
class PackedError : public UsageError {
 public:
  using UsageError::UsageError;
};

// The file is mapped: its pages are shared by all processes that read it, and no sample is copied. Opening reads the
// index alone.
//
// A mapped file must not change. `lockstep data pack` never writes to a file that has its final name, so one that is
// replaced by it stays whole for those who have it open. A file that something else makes shorter is noticed when the
// next sample is asked for, and is a PackedError; only a sample that is being read at that very moment ends the process
// with SIGBUS.
class PackedSet : public PictureSet {
 public:
  // Throws PackedError as above, UsageError when the file is missing.
  explicit PackedSet(const std::filesystem::path& path);
  ~PackedSet() override;

  std::int64_t size() const override;

  // The picture's bytes lie in the mapping, so they live as long as the set. Their checksum is compared; throws
  // SampleError when it differs.
  Picture get(std::int64_t index) const override;

  std::string name(std::int64_t index) const override;
  const std::vector<std::string>& classes() const override;

  // SHA-256, in hexadecimal, of what the file was made from and how.
  std::string source() const;

  // Size of the file.
  std::uint64_t bytes() const;

  // Checks what get() and the constructor leave out: the names, and that the gaps hold nothing. Throws PackedError.
  void check_rest() const;

 private:
  struct Mapping;
  std::unique_ptr<const Mapping> mapping_;
  std::unique_ptr<const PackedView> view_;
  bool large_samples_ = false;
};

}  // namespace lockstep::data
