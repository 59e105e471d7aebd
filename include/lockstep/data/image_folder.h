// Pictures that lie in a folder for each class: root/cat/0012.jpg.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/data/picture.h>

namespace lockstep::data {

class FolderListing;

struct ImageFolderOptions {
  // Whether a link may lead out of the root, as in a subset made of links to another data set.
  bool links_may_leave = false;
  // A file beyond this is no sample.
  std::uint64_t largest_file = std::uint64_t{256} << 20;
};

// The .jpg, .jpeg and .png files (in capitals too) below root/<class>, at any depth, in torchvision's order: classes by
// name, then folders by their whole path, then files by name. Names are compared byte by byte.
//
// The list is made once, and costs about as much memory as the files' names. Files are opened when they are asked for.
class ImageFolder : public PictureSet {
 public:
  // Throws UsageError for a root without class folders, a class without pictures (as torchvision does), a folder that
  // cannot be read, and a linked folder that leaves the root or leads back to where it came from.
  explicit ImageFolder(std::filesystem::path root, const ImageFolderOptions& options = {});
  ~ImageFolder() override;

  std::int64_t size() const override;

  // The file's bytes; the picture owns them. Throws SampleError when the file is gone, cannot be read, is empty or too
  // large, is no regular file, or is a link that leaves the root; RuntimeError when that is not the file's fault: too
  // many are open, or the disk does not answer.
  Picture get(std::int64_t index) const override;

  // "cat/0012.jpg", below the root, with control characters escaped.
  std::string name(std::int64_t index) const override;
  const std::vector<std::string>& classes() const override;

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
  std::filesystem::path real_root_;  // links resolved
  ImageFolderOptions options_;
  std::unique_ptr<const FolderListing> listing_;
};

}  // namespace lockstep::data
