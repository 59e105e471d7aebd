#include "cifar_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/damaged_file.h>

#include "numpy_pickle.h"

namespace lockstep::data {
namespace {

void append_picture(std::span<const std::byte> planes, CifarPictures& pictures) {
  const std::size_t start = pictures.pixels.size();
  pictures.pixels.resize(start + kCifarPicture);
  const auto* red = reinterpret_cast<const std::uint8_t*>(planes.data());
  const std::uint8_t *green = red + kCifarPlane, *blue = green + kCifarPlane;
  std::uint8_t* pixel = pictures.pixels.data() + start;
  for (std::size_t i = 0; i < kCifarPlane; ++i, pixel += 3) {
    pixel[0] = red[i];
    pixel[1] = green[i];
    pixel[2] = blue[i];
  }
}

void append_label(std::int64_t label, const CifarLabelPlace& place, const std::string& name, CifarPictures& pictures) {
  if (label < 0 || label >= place.classes) {
    throw damaged_file(name, "has a label that is no class", std::to_string(label),
                       fmt::format("0 to {}", place.classes - 1));
  }
  pictures.labels.push_back(label);
}

void reserve(std::size_t more, CifarPictures& pictures) {
  pictures.pixels.reserve(pictures.pixels.size() + more * kCifarPicture);
  pictures.labels.reserve(pictures.labels.size() + more);
}

}  // namespace

void append_cifar_binary(std::span<const std::byte> content, const CifarLabelPlace& label, const std::string& name,
                         CifarPictures& pictures) {
  const std::size_t record = label.bytes + kCifarPicture;
  if (content.empty() || content.size() % record != 0) {
    throw damaged_file(name, "is truncated, or no file of CIFAR's", fmt::format("{} bytes", content.size()),
                       fmt::format("{} for each picture", record));
  }
  reserve(content.size() / record, pictures);
  for (; !content.empty(); content = content.subspan(record)) {
    append_label(std::to_integer<std::int64_t>(content[label.place]), label, name, pictures);
    append_picture(content.subspan(label.bytes, kCifarPicture), pictures);
  }
}

void append_cifar_pickle(std::span<const std::byte> content, const CifarLabelPlace& label, const std::string& name,
                         CifarPictures& pictures) {
  const NumpyPickle pickle(content, name);
  const NumpyPickle::Array data = pickle.array("data");
  const std::vector<std::int64_t> labels = pickle.integers(label.key);
  if (data.sizes.size() != 2 || data.sizes[1] != static_cast<std::int64_t>(kCifarPicture)) {
    throw damaged_file(name, "has pictures of another shape", fmt::format("{}", fmt::join(data.sizes, " x ")),
                       fmt::format("N x {}", kCifarPicture));
  }
  if (data.sizes[0] != std::ssize(labels)) {
    throw damaged_file(name, "has labels that do not fit its pictures", fmt::format("{} labels", labels.size()),
                       fmt::format("{}", data.sizes[0]));
  }
  reserve(labels.size(), pictures);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    append_label(labels[i], label, name, pictures);
    append_picture(data.bytes.subspan(i * kCifarPicture, kCifarPicture), pictures);
  }
}

}  // namespace lockstep::data
