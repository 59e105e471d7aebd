// Brings a data set into a folder: from where it was put by hand, or from the network.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/base/errors.h>

#include <lockstep/data/tools/catalog.h>
#include <lockstep/data/tools/download.h>

namespace lockstep::data {

struct FetchOptions {
  std::vector<std::string> mirrors;         // addresses of folders with the files; tried first; http is allowed
  std::chrono::seconds lock_timeout{1800};  // how long another process may be at it
  DownloadOptions download;
  // Called with the file and the bytes of it that are there.
  std::function<void(const RemoteFile&, std::uint64_t)> progress = [](const RemoteFile&, std::uint64_t) {};
};

// Files that no mirror gave.
class FetchError : public RuntimeError {
 public:
  FetchError(ErrorParts parts, std::vector<RemoteFile> missing)
      : RuntimeError(std::move(parts)), missing_(std::move(missing)) {}

  // The set's files that are not there.
  const std::vector<RemoteFile>& missing() const { return missing_; }

 private:
  std::vector<RemoteFile> missing_;
};

// Makes the set be in `folder`; returns false when it was there already, whole, in which case nothing is written and
// the network is not touched. A file of the set, or its archive, that lies in the folder is used. A set that is an
// archive appears as a folder only when all of it is there and right; the archive is removed when it was downloaded
// now.
//
// Blocks while another process fetches or prepares into the same folder. Throws FetchError when a file cannot be
// downloaded, RuntimeError when one that lies there is damaged (it is left alone) or the folder cannot be written.
bool fetch(const RemoteSet& set, const std::filesystem::path& folder, const FetchOptions& options);

}  // namespace lockstep::data
