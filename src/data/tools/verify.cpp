#include <lockstep/data/tools/verify.h>

#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <lockstep/data/open_pictures.h>
#include <lockstep/data/packed.h>

#include "one_line.h"
#include "ordered_work.h"
#include "recode.h"
#include "workers.h"

namespace lockstep::data {
namespace {

struct Finding {
  std::uint64_t bytes = 0;
  std::string reason;  // empty for a good one
};

Finding examine(const PictureSet& set, std::int64_t index, bool decode) {
  try {
    const Picture picture = set.get(index);
    if (decode) recode(picture, {.form = PackOptions::Form::kAsIs});
    return {.bytes = picture.bytes.size(), .reason = ""};
  } catch (const SampleError& error) {
    return {.bytes = 0, .reason = one_line(error.parts())};
  }
}

void add_damage(VerifyResult& result, const ErrorParts& parts) {
  result.damage += fmt::format("{}{}{}{}", result.damage.empty() ? "" : "; ", parts.message,
                               parts.found.empty() ? "" : "; found " + parts.found,
                               parts.expected.empty() ? "" : ", expected " + parts.expected);
}

using Parts = std::vector<std::unique_ptr<PictureSet>>;

// Both parts of a set that has them, so far as they can be read.
Parts open_splits(const std::filesystem::path& path, VerifyResult& result) {
  Parts parts;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    try {
      parts.push_back(open_pictures(path, split));
    } catch (const UsageError& error) {
      add_damage(result, error.parts());
    }
  }
  return parts;
}

Parts open_parts(const std::filesystem::path& path, VerifyResult& result) {
  if (has_splits(path)) return open_splits(path, result);
  Parts parts;
  parts.push_back(open_pictures(path));
  return parts;
}

void examine_all(const PictureSet& set, bool decode, int workers, const std::function<void()>& progress,
                 VerifyResult& result) {
  std::int64_t index = 0;
  const auto next = [&]() -> std::optional<std::int64_t> {
    return index == set.size() ? std::nullopt : std::optional(index++);
  };
  OrderedWork<std::int64_t, Finding> work(worker_count(workers), next,
                                          [&](std::int64_t at) { return examine(set, at, decode); });
  for (std::int64_t at = 0; const auto finding = work.next(); ++at) {
    result.bytes += finding->bytes;
    if (!finding->reason.empty()) {
      ++result.bad_count;
      if (result.bad.size() < VerifyResult::kMostNamed) {
        result.bad.push_back({.index = at, .name = set.name(at), .reason = finding->reason});
      }
    }
    progress();
  }
}

}  // namespace

VerifyResult verify(const std::filesystem::path& path, const VerifyOptions& options, const VerifyProgress& progress) {
  VerifyResult result;
  try {
    const Parts parts = open_parts(path, result);
    for (const auto& part : parts) {
      result.samples += part->size();
      result.classes = std::ssize(part->classes());
    }
    const auto* packed = parts.size() == 1 ? dynamic_cast<const PackedSet*>(parts.front().get()) : nullptr;
    result.kind = packed != nullptr ? VerifyResult::Kind::kPacked : VerifyResult::Kind::kFolder;
    std::int64_t done = 0;
    const auto show = [&] {
      ++done;
      if (progress) progress(done, result.samples);
    };
    for (const auto& part : parts)
      examine_all(*part, options.decode || packed == nullptr, options.workers, show, result);
    if (packed != nullptr) packed->check_rest();
  } catch (const PackedError& error) {
    add_damage(result, error.parts());
  }
  return result;
}

}  // namespace lockstep::data
