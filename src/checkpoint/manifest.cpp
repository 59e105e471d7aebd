#include <lockstep/checkpoint/manifest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>

#include "manifest_checks.h"

namespace lockstep::checkpoint {
namespace {

using Json = nlohmann::json;  // its objects are sorted by key

constexpr int kMostLevels = 5;  // {files: [{tensors: [{
constexpr std::string_view kFormat = "lockstep checkpoint";

// The last lines of every version's file, so that damage and a newer version can be told from each other.
std::string trailer_for(std::string_view body) {
  return fmt::format(",\n \"crc32c\": \"{:08x}\"\n}}\n", crc32c(std::as_bytes(std::span(body))));
}

std::string hexadecimal(std::uint32_t checksum) {
  return fmt::format("{:08x}", checksum);
}

std::uint32_t checksum_from(const Json& json) {
  const auto text = json.get<std::string>();
  std::uint32_t checksum = 0;
  std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
  return checksum;
}

// JSON has no word for these.
Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_from(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return (json == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
}

Json file_json(const FileRecord& file) {
  Json tensors = Json::array();
  for (const TensorRecord& tensor : file.tensors) {
    tensors.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}, {"crc32c", hexadecimal(tensor.checksum)}});
  }
  return {{"name", file.name},
          {"bytes", file.bytes()},
          {"header_bytes", file.header_bytes},
          {"header_crc32c", hexadecimal(file.header_checksum)},
          {"tensors", tensors}};
}

FileRecord file_from(const Json& json) {
  FileRecord file{.name = json.at("name"),
                  .header_bytes = json.at("header_bytes"),
                  .header_checksum = checksum_from(json.at("header_crc32c"))};
  for (const Json& tensor : json.at("tensors")) {
    file.tensors.push_back(
        {.name = tensor.at("name"), .bytes = tensor.at("bytes"), .checksum = checksum_from(tensor.at("crc32c"))});
  }
  return file;
}

Json manifest_json(const Manifest& manifest) {
  Json numbers = Json::object(), files = Json::array();
  for (const auto& [name, value] : manifest.numbers) numbers[name] = number_json(value);
  for (const FileRecord& file : manifest.files) files.push_back(file_json(file));
  return {{"format", kFormat},       {"version", kFormatVersion},     {"step", manifest.step},
          {"epoch", manifest.epoch}, {"ranks", manifest.ranks},       {"integers", Json(manifest.integers)},
          {"numbers", numbers},      {"texts", Json(manifest.texts)}, {"files", files}};
}

Manifest manifest_from(const Json& json) {
  Manifest manifest{.step = json.at("step"),
                    .epoch = json.at("epoch"),
                    .ranks = json.at("ranks"),
                    .integers = json.at("integers").get<std::map<std::string, std::int64_t>>(),
                    .texts = json.at("texts").get<std::map<std::string, std::string>>()};
  for (const auto& [name, value] : json.at("numbers").items()) manifest.numbers[name] = number_from(value);
  for (const Json& file : json.at("files")) manifest.files.push_back(file_from(file));
  return manifest;
}

UsageError damaged(const std::string& file, const std::string& found) {
  return UsageError({.message = fmt::format("'{}' is damaged", file),
                     .found = found,
                     .next = "take another checkpoint, or a copy of this one from elsewhere"});
}

Json parse(std::string_view content, const std::string& file) {
  const auto shallow = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kMostLevels) throw damaged(file, "too many levels");
    return true;
  };
  return Json::parse(content, shallow);
}

void check_version(const Json& json, const std::string& file) {
  if (json.at("format") != kFormat) throw damaged(file, "another format");
  const auto version = json.at("version").get<std::int64_t>();
  if (version <= kFormatVersion) return;
  throw UsageError({.message = fmt::format("'{}' was written by a newer version of Lockstep", file),
                    .found = fmt::format("format version {}", version),
                    .expected = fmt::format("at most {}", kFormatVersion),
                    .next = "read it with the version that wrote it, or a newer one"});
}

}  // namespace

std::uint64_t FileRecord::bytes() const {
  std::uint64_t sum = header_bytes;
  for (const TensorRecord& tensor : tensors) sum += tensor.bytes;
  return sum;
}

std::string to_json(const Manifest& manifest) {
  if (const std::string problem = problem_of(manifest); !problem.empty()) {
    throw UsageError({.message = "this is no checkpoint", .found = problem});
  }
  try {
    std::string text = manifest_json(manifest).dump(/*indent=*/1);
    text.resize(text.size() - std::string_view("\n}").size());
    return text + trailer_for(text);
  } catch (const Json::type_error& error) {
    throw UsageError({.message = "a checkpoint's texts and names must be UTF-8", .found = error.what()});
  }
}

Manifest parse_manifest(std::string_view content, const std::string& file) {
  const std::size_t trailer = trailer_for("").size();
  if (content.size() < trailer) throw damaged(file, "it is truncated");
  const std::string_view body = content.substr(0, content.size() - trailer);
  if (content.substr(body.size()) != trailer_for(body)) throw damaged(file, "its checksum is another one");
  Manifest manifest;
  try {
    const Json json = parse(content, file);
    check_version(json, file);
    manifest = manifest_from(json);
  } catch (const Json::exception& error) {
    throw damaged(file, error.what());
  }
  if (const std::string problem = problem_of(manifest); !problem.empty()) throw damaged(file, problem);
  // What is left: keys that nobody knows or that come twice, and other ways to write the same.
  if (to_json(manifest) != content) throw damaged(file, "it is not as Lockstep writes it");
  return manifest;
}

}  // namespace lockstep::checkpoint
