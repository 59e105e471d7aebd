#include <lockstep/data/tools/verify.h>

#include <fmt/format.h>

#include <lockstep/data/open_pictures.h>
#include <lockstep/data/packed.h>

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
    const ErrorParts& parts = error.parts();
    return {.bytes = 0, .reason = parts.found.empty() ? parts.message : parts.message + ": " + parts.found};
  }
}

std::string summary(const PackedError& error) {
  const ErrorParts& parts = error.parts();
  return fmt::format("{}{}{}", parts.message, parts.found.empty() ? "" : "; found " + parts.found,
                     parts.expected.empty() ? "" : ", expected " + parts.expected);
}

void examine_all(const PictureSet& set, const VerifyOptions& options, const VerifyProgress& progress,
                 VerifyResult& result) {
  std::int64_t index = 0;
  const auto next = [&]() -> std::optional<std::int64_t> {
    return index == set.size() ? std::nullopt : std::optional(index++);
  };
  const bool decode = options.decode || result.kind == VerifyResult::Kind::kFolder;
  OrderedWork<std::int64_t, Finding> work(worker_count(options.workers), next,
                                          [&](std::int64_t at) { return examine(set, at, decode); });
  std::int64_t done = 0;
  while (const auto finding = work.next()) {
    result.bytes += finding->bytes;
    if (!finding->reason.empty()) {
      ++result.bad_count;
      if (result.bad.size() < VerifyResult::kMostNamed) {
        result.bad.push_back({.index = done, .name = set.name(done), .reason = finding->reason});
      }
    }
    ++done;
    if (progress) progress(done, set.size());
  }
}

}  // namespace

VerifyResult verify(const std::filesystem::path& path, const VerifyOptions& options, const VerifyProgress& progress) {
  VerifyResult result;
  try {
    const auto set = open_pictures(path);
    const auto* packed = dynamic_cast<const PackedSet*>(set.get());
    result.kind = packed != nullptr ? VerifyResult::Kind::kPacked : VerifyResult::Kind::kFolder;
    result.samples = set->size();
    result.classes = std::ssize(set->classes());
    examine_all(*set, options, progress, result);
    if (packed != nullptr) packed->check_rest();
  } catch (const PackedError& error) {
    result.damage = summary(error);
  }
  return result;
}

}  // namespace lockstep::data
