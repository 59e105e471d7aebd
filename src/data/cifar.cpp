#include <lockstep/data/cifar.h>

#include <fmt/format.h>

#include <lockstep/base/damaged_file.h>
#include <lockstep/base/files.h>

#include "cifar_batch.h"
#include "lines.h"
#include "numpy_pickle.h"

namespace lockstep::data {
namespace {

// The largest real file, CIFAR-100's for training, has 155 MB.
constexpr std::uint64_t kMaxBatch = std::uint64_t{512} << 20;
constexpr std::uint64_t kMaxNames = std::uint64_t{1} << 20;

// Where a set lies in one of its two forms.
struct Form {
  bool pickled = false;
  std::string_view folder;
  std::vector<std::string_view> train, test;
  std::string_view names;      // the file with the names of the classes
  std::string_view names_key;  // the key they have in it, when it is a pickle
};

struct Set {
  std::string_view name;  // for `lockstep data fetch`
  Form binary, python;
  CifarLabelPlace label;
};

Set cifar10() {
  return {.name = "cifar10",
          .binary = {.pickled = false,
                     .folder = "cifar-10-batches-bin",
                     .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                               "data_batch_5.bin"},
                     .test = {"test_batch.bin"},
                     .names = "batches.meta.txt",
                     .names_key = ""},
          .python = {.pickled = true,
                     .folder = "cifar-10-batches-py",
                     .train = {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
                     .test = {"test_batch"},
                     .names = "batches.meta",
                     .names_key = "label_names"},
          .label = {}};
}

Set cifar100(CifarLabels labels) {
  const bool fine = labels == CifarLabels::kFine;
  return {.name = "cifar100",
          .binary = {.pickled = false,
                     .folder = "cifar-100-binary",
                     .train = {"train.bin"},
                     .test = {"test.bin"},
                     .names = fine ? "fine_label_names.txt" : "coarse_label_names.txt",
                     .names_key = ""},
          .python = {.pickled = true,
                     .folder = "cifar-100-python",
                     .train = {"train"},
                     .test = {"test"},
                     .names = "meta",
                     .names_key = fine ? "fine_label_names" : "coarse_label_names"},
          .label = {.bytes = 2,
                    .place = fine ? 1U : 0U,
                    .key = fine ? "fine_labels" : "coarse_labels",
                    .classes = fine ? 100 : 20}};
}

// The form that is there, and the folder where its files lie.
std::pair<const Form&, std::filesystem::path> find_form(const std::filesystem::path& folder, const Set& set) {
  for (const Form* form : {&set.binary, &set.python}) {
    for (const std::filesystem::path& place : {folder, folder / form->folder}) {
      std::error_code ignored;
      if (std::filesystem::exists(place / form->train.front(), ignored)) return {*form, place};
    }
  }
  throw UsageError({.message = fmt::format("'{}' holds none of the files of {}", folder.string(), set.name),
                    .expected = fmt::format("{}/{} or {}/{}", set.binary.folder, set.binary.train.front(),
                                            set.python.folder, set.python.train.front()),
                    .next = fmt::format("lockstep data fetch {} {}", set.name, folder.string())});
}

std::vector<std::string> read_classes(const Form& form, const std::filesystem::path& folder, std::int64_t expected) {
  const auto path = folder / form.names;
  const std::string content = files::read(path, kMaxNames);
  std::vector<std::string> classes =
      form.pickled ? NumpyPickle(std::as_bytes(std::span(content)), path.string()).strings(form.names_key)
                   : lines_of(content);
  if (std::ssize(classes) != expected) {
    throw damaged_file(path.string(), "names another number of classes", std::to_string(classes.size()),
                       std::to_string(expected));
  }
  return classes;
}

PixelSet read(const std::filesystem::path& folder, const Set& set, Split split) {
  const auto& [form, place] = find_form(folder, set);
  CifarPictures pictures;
  std::vector<PixelSetContent::Origin> origins;
  for (const std::string_view file : split == Split::kTrain ? form.train : form.test) {
    origins.push_back({.file = std::string(file), .first = std::ssize(pictures.labels)});
    const std::filesystem::path path = place / file;
    const std::string content = files::read(path, kMaxBatch);
    const auto append = form.pickled ? append_cifar_pickle : append_cifar_binary;
    append(std::as_bytes(std::span(content)), set.label, path.string(), pictures);
  }
  return PixelSet({.width = kCifarSide,
                   .height = kCifarSide,
                   .channels = 3,
                   .pixels = std::move(pictures.pixels),
                   .labels = std::move(pictures.labels),
                   .classes = read_classes(form, place, set.label.classes),
                   .origins = std::move(origins)});
}

}  // namespace

PixelSet read_cifar10(const std::filesystem::path& folder, Split split) {
  return read(folder, cifar10(), split);
}

PixelSet read_cifar100(const std::filesystem::path& folder, Split split, CifarLabels labels) {
  return read(folder, cifar100(labels), split);
}

}  // namespace lockstep::data
