// Turns a set of pictures into a packed file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/data/packed_writer.h>
#include <lockstep/data/picture.h>

namespace lockstep::data {

struct PackOptions {
  enum class Form {
    kAsIs,    // the files' bytes
    kJpeg,    // encoded again
    kPixels,  // red, green and blue
  };

  Form form = Form::kAsIs;
  std::optional<int> size;  // what the shorter side becomes; not with kAsIs
  int quality = 92;         // of kJpeg
  int workers = 0;          // threads that read and encode; 0: one for each CPU
  bool check = true;        // decode what goes in as it is, so that a bad file is found now
  // How many bad pictures are left out before it is an error; none: the first is.
  std::optional<std::int64_t> most_bad;
  bool replace = false;  // a file that exists
};

// Called now and then with what is done, the total and the bytes written.
using PackProgress = std::function<void(std::int64_t, std::int64_t, std::uint64_t)>;

struct PackResult {
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;
  std::int64_t resumed = 0;  // pictures that an earlier run had dealt with
  std::vector<LeftOut> left_out;
};

// Pictures in their order, in memory bounded by the workers. What an earlier call with the same pictures and options
// left is gone on with; the same are those with the same names, so what is in them must not change in between. Throws
// SampleError for a picture that cannot be used (or, with `most_bad`, one too many of them), UsageError when the disk
// has not enough room for what some from all over the set promise, and what PackedWriter throws.
PackResult pack(const PictureSet& source, const std::filesystem::path& target, const PackOptions& options = {},
                const PackProgress& progress = {});

// A picture that comes from elsewhere than a set.
struct PackItem {
  std::string name;
  std::function<Picture()> load;  // called by a worker; throws SampleError
};

// The same for pictures that are made one after another: `next` is called by one thread at a time, and gives nothing at
// the end. `source` is the SHA-256 of what decides on them; the options are added to it.
PackResult pack(const std::function<std::optional<PackItem>()>& next, std::int64_t total,
                std::vector<std::string> classes, const std::string& source, const std::filesystem::path& target,
                const PackOptions& options = {}, const PackProgress& progress = {});

}  // namespace lockstep::data
