// Makes a packed file, sample by sample; what was interrupted goes on where it stopped.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/data/picture.h>

namespace lockstep::data {

struct PackedWriterOptions {
  // A file of that name is replaced at the end; without this it is an error.
  bool replace = false;
  // After so many bytes they are made to last; a crash loses no more than them.
  std::uint64_t commit_bytes = std::uint64_t{32} << 20;
};

// A picture of the source that is not in the packed file.
struct LeftOut {
  std::string name, reason;
};

// Until finish(), all is in TARGET.partial and TARGET.partial.journal. They stay when the writer is destroyed before
// that, or the process is killed; the next writer for the target takes them up, and the result is the same, byte by
// byte, as if nothing had happened. One thread at a time. After a RuntimeError, and after finish(), a writer refuses
// more with UsageError: make another one.
class PackedWriter {
 public:
  // `source` is the SHA-256, in hexadecimal, of all that decides what the samples are: what was begun from one source
  // does not go on with another. Throws UsageError for that, for a target that exists, and when another process writes
  // the same target.
  PackedWriter(std::filesystem::path target, std::vector<std::string> classes, const std::string& source,
               const PackedWriterOptions& options = {});
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  // How many pictures of the source were added or left out before: go on with this one.
  std::int64_t position() const;

  // The next picture of the source. Throws UsageError when it is larger than 4 GiB, its pixels do not fit its size, or
  // its label is no class, RuntimeError when it cannot be written: at a full disk, in words.
  void add(const Picture& picture, std::string_view name);

  // The next picture of the source is not to be used.
  void leave_out(std::string_view name, std::string_view reason);

  // Samples so far, and their bytes.
  std::int64_t size() const;
  std::uint64_t bytes() const;
  const std::vector<LeftOut>& left_out() const;

  // Writes the index, makes all of it last, and gives the file its name. Throws UsageError when there is no sample.
  void finish();

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace lockstep::data
