#include "imagenet_truth.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "../lines.h"
#include "../numbers.h"
#include "archive_reader.h"
#include "mat_file.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::string_view kSolutionHeader = "ImageId,PredictionString";

UsageError wrong_line(const std::string& file, std::size_t line, const std::string& text, const std::string& expected) {
  return UsageError({.message = fmt::format("{}:{}: this is no ground truth", file, line + 1),
                     .found = text.substr(0, 80),
                     .expected = expected});
}

std::string read_text(const std::filesystem::path& path) {
  return files::read(path, kMostBytes);
}

// "ILSVRC2012_val_00048981,n03995372 85 1 499 272", in any order.
std::vector<std::string> from_solution(const std::vector<std::string>& lines, const std::string& file) {
  std::vector<std::string> wnids(lines.size() - 1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t comma = std::min(lines[i].find(','), lines[i].size());
    const std::string_view image = std::string_view(lines[i]).substr(0, comma);
    const std::string wnid = comma < lines[i].size() ? lines[i].substr(comma + 1, 9) : "";
    constexpr std::string_view kPrefix = "ILSVRC2012_val_";
    const auto number =
        image.starts_with(kPrefix) ? number_in<std::size_t>(image.substr(kPrefix.size())) : std::nullopt;
    if (!number || *number < 1 || *number > wnids.size() || !wnids[*number - 1].empty() || !is_wnid(wnid)) {
      throw wrong_line(file, i, lines[i], "ILSVRC2012_val_<number>,<class> ..., each number once");
    }
    wnids[*number - 1] = wnid;
  }
  return wnids;
}

std::vector<std::string> from_wnids(std::vector<std::string> lines, const std::string& file) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_wnid(lines[i])) throw wrong_line(file, i, lines[i], "a class such as n01751748");
  }
  return lines;
}

std::vector<std::string> from_ids(const std::vector<std::string>& lines, const std::string& file,
                                  const std::vector<std::string>& wnid_of_id) {
  std::vector<std::string> wnids;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto id = number_in<std::size_t>(lines[i]);
    if (!id || *id < 1 || *id > wnid_of_id.size() || wnid_of_id[*id - 1].empty()) {
      throw wrong_line(file, i, lines[i], fmt::format("an id from 1 to {}", wnid_of_id.size()));
    }
    wnids.push_back(wnid_of_id[*id - 1]);
  }
  return wnids;
}

std::vector<std::string> read_synset_list(const std::filesystem::path& path) {
  if (path.empty()) {
    throw UsageError({.message = "the ground truth has numbers, and nothing says which classes they are",
                      .next = "give the development kit (ILSVRC2012_devkit_t12.tar.gz) as --truth, or --synsets"});
  }
  std::vector<std::string> wnids;
  for (const std::string& line : lines_of(read_text(path))) wnids.push_back(line.substr(0, line.find(' ')));
  wnids = from_wnids(std::move(wnids), path.string());
  // Kaggle's LOC_synset_mapping.txt and most other lists; the ids of ImageNet are in another order.
  if (wnids.size() > 2 && std::is_sorted(wnids.begin(), wnids.end())) {
    throw UsageError(
        {.message = fmt::format("'{}' is sorted by class, and not in the order of ILSVRC's ids", path.string()),
         .expected = "n02119789 first, as in meta.mat",
         .next = "give the development kit (ILSVRC2012_devkit_t12.tar.gz) as --truth"});
  }
  return wnids;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> from_development_kit(const std::filesystem::path& path) {
  Archive archive(path);
  std::vector<std::byte> meta, truth;
  while (const auto entry = archive.next()) {
    if (entry->path.ends_with("data/meta.mat")) meta = archive.read(*entry, kMostBytes);
    if (entry->path.ends_with("data/ILSVRC2012_validation_ground_truth.txt")) truth = archive.read(*entry, kMostBytes);
  }
  if (meta.empty() || truth.empty()) {
    throw UsageError({.message = fmt::format("'{}' is not ImageNet's development kit", path.string()),
                      .expected = "data/meta.mat and data/ILSVRC2012_validation_ground_truth.txt in it"});
  }
  std::vector<std::string> wnid_of_id;
  for (const auto& [id, wnid] : read_synsets(meta)) {
    if (id < 1 || !is_wnid(wnid)) throw UsageError(fmt::format("'{}' has a class that makes no sense", path.string()));
    wnid_of_id.resize(std::max(wnid_of_id.size(), static_cast<std::size_t>(id)));
    wnid_of_id[static_cast<std::size_t>(id) - 1] = wnid;
  }
  return from_ids(lines_of(as_text(truth)), "ILSVRC2012_validation_ground_truth.txt", wnid_of_id);
}

}  // namespace

bool is_wnid(std::string_view text) {
  return text.size() == 9 && text.front() == 'n' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> read_imagenet_truth(const std::filesystem::path& truth, const std::filesystem::path& synsets) {
  const std::string extension = truth.extension().string();
  if (extension == ".gz" || extension == ".tgz" || extension == ".tar") return from_development_kit(truth);
  std::vector<std::string> lines = lines_of(read_text(truth));
  if (lines.empty()) throw UsageError(fmt::format("'{}' is empty", truth.string()));
  if (lines.front() == kSolutionHeader) return from_solution(lines, truth.string());
  if (is_wnid(lines.front())) return from_wnids(std::move(lines), truth.string());
  return from_ids(lines, truth.string(), read_synset_list(synsets));
}

std::size_t validation_number(std::string_view name) {
  const std::string_view stem = name.substr(0, name.rfind('.'));
  const auto number = number_in<std::size_t>(stem.substr(std::min(stem.rfind('_') + 1, stem.size())));
  if (!number || *number == 0) {
    throw UsageError({.message = "the validation archive has a picture without a number",
                      .found = std::string(name),
                      .expected = "ILSVRC2012_val_<number>.JPEG"});
  }
  return *number;
}

}  // namespace lockstep::data
