// lockstep data fetch: brings a data set into a folder, or says how to bring it by hand.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/progress.h>
#include <lockstep/base/text.h>
#include <lockstep/data/tools/fetch.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string name, folder, catalog;
  std::vector<std::string> mirrors;
  bool list = false;
  int timeout = 20, wait = 1800;
};

std::vector<data::RemoteSet> all_sets(const std::string& catalog) {
  std::vector<data::RemoteSet> sets;
  if (!catalog.empty()) sets = data::read_catalog(catalog);
  for (data::RemoteSet& set : data::built_in_sets()) sets.push_back(std::move(set));
  return sets;
}

std::int64_t size_of(const data::RemoteSet& set) {
  std::int64_t total = 0;
  for (const data::RemoteFile& file : set.files) total += static_cast<std::int64_t>(file.size);
  return total;
}

int list(const std::vector<data::RemoteSet>& sets) {
  for (const data::RemoteSet& set : sets) {
    fmt::print("{:<14} {:>10}  {}\n", set.name, format_bytes(static_cast<std::uint64_t>(size_of(set))),
               escape_controls(set.title));
  }
  return kExitSuccess;
}

const data::RemoteSet& find(const std::vector<data::RemoteSet>& sets, const std::string& name) {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& set) { return set.name == name; });
  if (found != sets.end()) return *found;
  std::vector<std::string> names;
  for (const data::RemoteSet& set : sets) names.push_back(set.name);
  throw UsageError({.message = fmt::format("there is no data set '{}' to fetch{}", name, did_you_mean(name, names)),
                    .expected = fmt::format("{}", fmt::join(names, ", ")),
                    .next = "lockstep data fetch --list"});
}

void print_how_to_bring(const std::vector<data::RemoteFile>& missing, const std::filesystem::path& folder) {
  std::string text = fmt::format("these files are missing in {}:\n", escape_controls(folder.string()));
  for (const data::RemoteFile& file : missing) {
    text += fmt::format("  {}  {} bytes  {}\n", file.name, file.size, file.digest);
    for (const std::string& url : file.urls) text += fmt::format("    {}\n", escape_controls(url));
  }
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// A bar for each file, which ends when the next begins.
class Bars {
 public:
  void update(const data::RemoteFile& file, std::uint64_t done) {
    if (file.name != name_) {
      finish();
      name_ = file.name;
      bar_.emplace(name_, static_cast<std::int64_t>(file.size), /*visible=*/true);
    }
    bar_->update(static_cast<std::int64_t>(done), format_bytes(done));
  }

  void finish() {
    if (bar_) bar_->finish("");
    bar_.reset();
  }

 private:
  std::string name_;
  std::optional<Progress> bar_;
};

int run(const Words& words) {
  const std::vector<data::RemoteSet> sets = all_sets(words.catalog);
  if (words.list) return list(sets);
  if (words.name.empty() || words.folder.empty()) {
    throw UsageError({.message = "fetch needs the name of a data set and a folder",
                      .next = "lockstep data fetch NAME DIR, or lockstep data fetch --list"});
  }
  const data::RemoteSet& set = find(sets, words.name);
  const auto folder = std::filesystem::absolute(words.folder).lexically_normal();
  Bars bars;
  data::FetchOptions options{.mirrors = words.mirrors, .lock_timeout = std::chrono::seconds(words.wait)};
  options.download.stall_timeout = std::chrono::seconds(words.timeout);
  options.progress = [&bars](const data::RemoteFile& file, std::uint64_t done) { bars.update(file, done); };
  try {
    const bool fetched = data::fetch(set, folder, options);
    bars.finish();
    fmt::print("{} {} in {}\n", set.name, fetched ? "is now" : "is", escape_controls((folder / set.folder).string()));
    return kExitSuccess;
  } catch (const data::FetchError& error) {
    print_how_to_bring(error.missing(), folder);
    throw;
  }
}

}  // namespace

void add_fetch(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("fetch", "Downloads a data set, with mirrors, checksums and resume");
  auto words = std::make_shared<Words>();
  verb->add_option("name", words->name, "Which: see --list")->type_name("NAME");
  verb->add_option("folder", words->folder, "Where to; files that lie there are used")->type_name("DIR");
  verb->add_flag("--list", words->list, "Say what can be fetched");
  verb->add_option("--mirror", words->mirrors, "Address of a folder with the files, to try first; may be repeated")
      ->allow_extra_args(false)
      ->type_name("URL");
  verb->add_option("--catalog", words->catalog, "Sets of your own, in JSON")->type_name("FILE");
  verb->add_option("--timeout", words->timeout, "Seconds without data after which a mirror is given up (20)")
      ->check(CLI::Range(1, 3600));
  verb->add_option("--wait", words->wait, "Seconds to wait for another process that writes into the folder (1800)")
      ->check(CLI::Range(0, 86400));
  verb->callback([words, &action] { action = [words] { return run(*words); }; });
}

}  // namespace lockstep::app
