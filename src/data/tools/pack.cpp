#include <lockstep/data/tools/pack.h>

#include <sys/statvfs.h>

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include "one_line.h"
#include "ordered_work.h"
#include "recode.h"
#include "workers.h"

namespace lockstep::data {
namespace {

// What became of one picture of the source.
struct Outcome {
  std::string name;
  Picture picture;
  std::optional<ErrorParts> error;
};

// The decoder does not know which picture it is given; who loads it does.
Picture load_and_recode(const PackItem& item, const PackOptions& options) {
  const Picture picture = item.load();
  try {
    return recode(picture, options);
  } catch (const SampleError& error) {
    throw error.of("'" + item.name + "'");
  }
}

Outcome process(PackItem&& item, const PackOptions& options) {
  try {
    return {.name = item.name, .picture = load_and_recode(item, options), .error = std::nullopt};
  } catch (const SampleError& error) {
    return {.name = std::move(item.name), .picture = {}, .error = error.parts()};
  }
}

SampleError with_next(ErrorParts parts, std::string next) {
  parts.next = std::move(next);
  return SampleError(std::move(parts));
}

void add(PackedWriter& writer, const Outcome& outcome, const PackOptions& options,
         const std::filesystem::path& target) {
  if (!outcome.error) {
    writer.add(outcome.picture, outcome.name);
    return;
  }
  if (!options.most_bad) {
    throw with_next(*outcome.error,
                    fmt::format("mend it and pack again, or leave such ones out with --on-error skip; without it these "
                                "are other pictures, so if you remove it, remove '{}.partial' too",
                                target.string()));
  }
  if (std::ssize(writer.left_out()) >= *options.most_bad) {
    throw with_next(*outcome.error,
                    fmt::format("it is one more than the {} bad pictures that --max-bad allows; look at them first",
                                *options.most_bad));
  }
  writer.leave_out(outcome.name, one_line(*outcome.error));
}

// All that decides on the bytes of the result.
std::string source_with(const std::string& source, const PackOptions& options) {
  return files::sha256(fmt::format("{} form {} size {} quality {}", source, static_cast<int>(options.form),
                                   options.size.value_or(0),
                                   options.form == PackOptions::Form::kJpeg ? options.quality : 0));
}

// Names alone: to ask for the size of each of a million files takes minutes where they lie on a server.
std::string digest_of(const PictureSet& source) {
  std::string names;
  for (const std::string& name : source.classes()) names += name + '\n';
  for (std::int64_t i = 0; i < source.size(); ++i) names += source.name(i) + '\n';
  return files::sha256(names);
}

// Some pictures from all over the set say how large the result will be.
void require_room(const PictureSet& source, const std::filesystem::path& target, const PackOptions& options) {
  constexpr std::int64_t kProbes = 64;
  std::uint64_t bytes = 0;
  std::int64_t good = 0;
  for (std::int64_t i = 0; i < std::min(kProbes, source.size()); ++i) {
    const std::int64_t index = i * source.size() / std::min(kProbes, source.size());
    const Outcome outcome = process({.name = "", .load = [&] { return source.get(index); }}, options);
    if (outcome.error) continue;
    bytes += outcome.picture.bytes.size();
    ++good;
  }
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  struct statvfs disk {};
  if (good == 0 || ::statvfs(folder.c_str(), &disk) != 0) return;
  const double needed = static_cast<double>(bytes) / static_cast<double>(good) * static_cast<double>(source.size());
  std::error_code none;
  std::filesystem::path partial = target;
  const auto written = std::filesystem::file_size(partial += ".partial", none);
  const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) +
                      (none ? 0.0 : static_cast<double>(written));
  if (needed <= room) return;
  throw UsageError({.message = fmt::format("there is no room for '{}'", target.string()),
                    .found = format_bytes(static_cast<std::uint64_t>(room)) + " are free",
                    .expected = fmt::format("about {}", format_bytes(static_cast<std::uint64_t>(needed))),
                    .next = "make room, choose another disk, or pack smaller pictures with --size"});
}

}  // namespace

PackResult pack(const std::function<std::optional<PackItem>()>& next, std::int64_t total,
                std::vector<std::string> classes, const std::string& source, const std::filesystem::path& target,
                const PackOptions& options, const PackProgress& progress) {
  PackedWriter writer(target, std::move(classes), source_with(source, options), {.replace = options.replace});
  PackResult result{.resumed = writer.position()};
  for (std::int64_t i = 0; i < result.resumed; ++i) {
    if (!next()) throw UsageError({.message = fmt::format("there are fewer pictures than '{}' has", target.string())});
  }
  OrderedWork<PackItem, Outcome> work(worker_count(options.workers), next,
                                      [&](PackItem&& item) { return process(std::move(item), options); });
  while (const auto outcome = work.next()) {
    add(writer, *outcome, options, target);
    if (progress) progress(writer.position(), total, writer.bytes());
  }
  writer.finish();
  result.samples = writer.size();
  result.bytes = std::filesystem::file_size(target);
  result.left_out = writer.left_out();
  return result;
}

PackResult pack(const PictureSet& source, const std::filesystem::path& target, const PackOptions& options,
                const PackProgress& progress) {
  require_room(source, target, options);
  std::int64_t index = 0;
  const auto next = [&]() -> std::optional<PackItem> {
    if (index == source.size()) return std::nullopt;
    const std::int64_t at = index++;
    return PackItem{.name = source.name(at), .load = [&source, at] { return source.get(at); }};
  };
  return pack(next, source.size(), source.classes(), digest_of(source), target, options, progress);
}

}  // namespace lockstep::data
