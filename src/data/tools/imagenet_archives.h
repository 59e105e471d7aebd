// The two archives of ImageNet as pictures, one after another.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "archive_reader.h"

namespace lockstep::data {

struct ImagenetPicture {
  std::string wnid, name;
  std::vector<std::byte> bytes;
};

// The classes of the train archive, as their names sort. Reads no picture.
std::vector<std::string> list_train_classes(const std::filesystem::path& path);

// The train archive. Classes of which `skip` says so are passed over.
class TrainPictures {
 public:
  using Skip = std::function<bool(const std::string& wnid)>;

  explicit TrainPictures(const std::filesystem::path& path, Skip skip = {});

  // Goes on to the next class, and says which; nothing at the end.
  std::optional<std::string> next_class();

  // The next picture of that class; nothing at its end.
  std::optional<ImagenetPicture> next_of_class();

  // The next picture of all.
  std::optional<ImagenetPicture> next();

 private:
  Archive outer_;
  Skip skip_;
  std::string wnid_;
  std::optional<Archive> inner_;
};

// The validation archive, with its truth.
class ValidationPictures {
 public:
  ValidationPictures(const std::filesystem::path& path, const std::vector<std::string>& truth)
      : archive_(path), truth_(truth), seen_(truth.size()) {}

  // Throws UsageError for a picture that the truth does not have, or that comes twice; and at the end when some of the
  // truth's did not come.
  std::optional<ImagenetPicture> next();

 private:
  Archive archive_;
  const std::vector<std::string>& truth_;
  std::vector<bool> seen_;
};

}  // namespace lockstep::data
