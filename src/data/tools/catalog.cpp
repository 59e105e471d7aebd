#include <lockstep/data/tools/catalog.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "digest.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxCatalog = std::uint64_t{1} << 20;

std::string name_in(const nlohmann::json& value) {
  auto name = value.get<std::string>();
  if (!is_plain_name(name)) throw UsageError({.message = "a catalog's name is no plain file name", .found = name});
  return name;
}

std::string digest(const nlohmann::json& value) {
  auto text = value.get<std::string>();
  if (!is_digest(text)) {
    throw UsageError({.message = "a catalog's digest is none", .found = text, .expected = "sha256:HEX or md5:HEX"});
  }
  return text;
}

RemoteFile read_file(const nlohmann::json& value) {
  return {.name = name_in(value.at("name")),
          .size = value.at("size").get<std::uint64_t>(),
          .digest = digest(value.at("digest")),
          .urls = value.at("urls").get<std::vector<std::string>>()};
}

RemoteSet read_set(const nlohmann::json& value) {
  RemoteSet set{
      .name = name_in(value.at("name")), .title = value.value("title", ""), .files = {}, .folder = "", .contents = {}};
  for (const auto& file : value.at("files")) set.files.push_back(read_file(file));
  if (value.contains("folder")) set.folder = name_in(value["folder"]);
  for (const auto& part : value.value("contents", nlohmann::json::array())) {
    set.contents.push_back({.name = name_in(part.at("name")), .digest = digest(part.at("digest"))});
  }
  if (set.files.empty() || (!set.folder.empty() && set.files.size() != 1)) {
    throw UsageError({.message = fmt::format("set '{}' of a catalog has the wrong number of files", set.name),
                      .found = std::to_string(set.files.size()),
                      .expected = "one archive, or at least one file"});
  }
  return set;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;  // with what is appended to it, a file system takes 255
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '/' && c != '\\'; });
}

std::vector<RemoteSet> read_catalog(const std::filesystem::path& path) {
  const std::string content = files::read(path, kMaxCatalog);
  try {
    std::vector<RemoteSet> sets;
    const nlohmann::json catalog = nlohmann::json::parse(content);
    for (const auto& set : catalog.at("sets")) sets.push_back(read_set(set));
    return sets;
  } catch (const nlohmann::json::exception& error) {
    throw UsageError({.message = fmt::format("'{}' is no catalog of data sets", path.string()), .found = error.what()});
  }
}

}  // namespace lockstep::data
