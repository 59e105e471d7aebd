// A checkpoint, written so that a crash at any moment leaves all of it or none, and every earlier one as it was.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/checkpoint/manifest.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

class WriterLock;

// Writes `checkpoints`/STEP under a temporary name, which commit() changes into the final one. Without commit() nothing
// is left of it. One rank has the writer; others write their shards into folder() with write_safetensors(), and their
// records come here by add().
//
//   Writer writer("runs/a/checkpoints", 1200);
//   writer.write(kModelFile, tensors);
//   writer.commit({.epoch = 3, .numbers = {{"top1", 0.94}}});
class Writer {
 public:
  // Makes the folder of checkpoints when it is not there (but not those above it), and removes what killed writers have
  // left in it. Throws UsageError while another process writes there, RuntimeError when a file call fails.
  Writer(std::filesystem::path checkpoints, std::int64_t step);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The temporary folder.
  const std::filesystem::path& folder() const { return temporary_; }

  // Writes one file of the checkpoint. Throws as write_safetensors() does.
  void write(std::string_view file, std::span<const data::TensorBytes> tensors,
             const std::map<std::string, std::string>& metadata = {});

  // A file that another rank has written into folder().
  void add(FileRecord file) { files_.push_back(std::move(file)); }

  // Writes checkpoint.json and gives the folder its name; a checkpoint of the same step is replaced. `content`'s step
  // and files are the writer's. Returns the folder. After an error the checkpoint is not there, unless only the last
  // step failed, to make its name safe from a crash of the machine.
  std::filesystem::path commit(Manifest content);

 private:
  void check_files() const;
  void take_name(const std::filesystem::path& target) const;

  const std::filesystem::path checkpoints_;
  const std::int64_t step_;
  std::unique_ptr<WriterLock> lock_;
  std::filesystem::path temporary_;
  std::vector<FileRecord> files_;
};

}  // namespace lockstep::checkpoint
