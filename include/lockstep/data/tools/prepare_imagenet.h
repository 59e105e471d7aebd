// From the archives of ImageNet (ILSVRC2012), as they are handed out, to data sets.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <lockstep/data/tools/pack.h>

namespace lockstep::data {

struct ImagenetArchives {
  std::filesystem::path train;    // ILSVRC2012_img_train.tar, a tar of a tar for each class; may be left out
  std::filesystem::path val;      // ILSVRC2012_img_val.tar; may be left out
  std::filesystem::path truth;    // for val: the development kit, or a text file; see docs/data/packed.md
  std::filesystem::path synsets;  // for a truth of numbers
};

struct PrepareOptions {
  // Straight into train.lsp and val.lsp; else class folders.
  std::optional<PackOptions> pack;
  std::chrono::seconds lock_timeout{1800};  // how long another process may be at it
};

struct PreparedSplit {
  std::filesystem::path path;
  std::int64_t pictures = 0;  // without those that were there already
  std::int64_t classes = 0;
  std::int64_t classes_there = 0;  // class folders that an earlier run had completed
  bool was_there = false;          // the whole of it
  PackResult packed;
};

struct PrepareResult {
  std::optional<PreparedSplit> train, val;
};

// "train" or "val", pictures so far, the total or 0 when it is not known, bytes.
using PrepareProgress = std::function<void(const std::string&, std::int64_t, std::int64_t, std::uint64_t)>;

// Makes folder/train and folder/val, each with a folder for each class, or folder/train.lsp and folder/val.lsp. A class
// of train, and the whole of val, gets its name only when it is complete and on the disk, so a run that was interrupted
// goes on with what is missing. Throws UsageError for archives that are damaged or of another form, RuntimeError when
// the disk is full. No name in an archive decides where something is written. Blocks while another process fetches or
// prepares into the same folder.
PrepareResult prepare_imagenet(const ImagenetArchives& archives, const std::filesystem::path& folder,
                               const PrepareOptions& options = {}, const PrepareProgress& progress = {});

}  // namespace lockstep::data
