#include <lockstep/base/post_mortem.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include "stack_trace.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kLargestFile = 4U << 20U;
constexpr std::size_t kMostFiles = 1U << 16U;

struct Operation {
  std::string group, name, tensor, state;
  std::uint64_t sequence = 0;
  std::int64_t started = 0;

  std::string describe() const { return name + (tensor.empty() ? "" : " (" + tensor + ")"); }
};

struct RankFile {
  std::string job, host, reason;
  int rank = 0, size = 0;
  std::int64_t pid = 0;
  std::vector<std::string> stack;
  std::vector<Operation> operations;  // oldest first
  fs::file_time_type time;
};

RankFile parse(const fs::path& path) {
  try {
    const auto value = nlohmann::json::parse(files::read(path, kLargestFile));
    RankFile file{.job = value.at("job"),
                  .host = value.at("host"),
                  .reason = value.at("reason"),
                  .rank = value.at("rank"),
                  .size = value.at("size"),
                  .pid = value.at("pid"),
                  .stack = value.at("stack"),
                  .operations = {},
                  .time = fs::last_write_time(path)};
    for (const auto& entry : value.at("operations")) {
      file.operations.push_back({.group = entry.at("group"),
                                 .name = entry.at("name"),
                                 .tensor = entry.at("tensor"),
                                 .state = entry.at("state"),
                                 .sequence = entry.at("sequence"),
                                 .started = entry.at("started")});
    }
    std::sort(file.operations.begin(), file.operations.end(),
              [](const auto& a, const auto& b) { return a.started < b.started; });
    return file;
  } catch (const nlohmann::json::exception& error) {
    throw UsageError({.message = "'" + path.string() + "' is not what a rank leaves behind", .found = error.what()});
  }
}

// Those of the newest job, in the order of ranks.
std::vector<RankFile> read_newest_job(const fs::path& folder) {
  std::vector<RankFile> all;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rank-") && name.ends_with(".json") && all.size() < kMostFiles)
      all.push_back(parse(entry.path()));
  }
  if (all.empty()) {
    throw UsageError({.message = "no rank has left anything in '" + folder.string() + "'",
                      .expected = "files rank-N.json",
                      .next = "give the folder lockstep-post-mortem of the job's working directory"});
  }
  const std::string job =
      std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time < b.time; })->job;
  std::erase_if(all, [&](const RankFile& file) { return file.job != job; });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return all;
}

std::string where(const RankFile& file) {
  constexpr std::size_t kFrames = 5, kLength = 120;
  std::string text;
  for (std::size_t i = 0; i < std::min(kFrames, file.stack.size()); ++i) {
    text += (i == 0 ? "" : " < ") + demangle(file.stack[i]).substr(0, kLength);
  }
  return text.empty() ? "" : "; it was in " + text;
}

// One group's collectives: by sequence number, what each rank called.
using Calls = std::map<std::uint64_t, std::map<int, const Operation*>>;

std::map<std::string, Calls> collectives(const std::vector<RankFile>& files) {
  std::map<std::string, Calls> groups;
  for (const RankFile& file : files) {
    for (const Operation& operation : file.operations) {
      if (operation.sequence != 0) groups[operation.group][operation.sequence][file.rank] = &operation;
    }
  }
  return groups;
}

// The first call at which ranks did different things, in words.
std::optional<std::string> find_disagreement(const std::string& group, const Calls& calls) {
  for (const auto& [sequence, by_rank] : calls) {
    std::map<std::string, std::vector<int>> ranks_by_call;
    for (const auto& [rank, operation] : by_rank) ranks_by_call[operation->describe()].push_back(rank);
    std::set<std::string> names;
    for (const auto& [rank, operation] : by_rank) names.insert(operation->name);
    if (ranks_by_call.size() < 2) continue;
    // Gathering and scattering may differ in size between ranks and be right.
    if (names.size() == 1 && (names.begin()->ends_with("gather") || names.contains("scatter"))) continue;
    std::vector<std::pair<std::string, std::vector<int>>> ways(ranks_by_call.begin(), ranks_by_call.end());
    std::stable_sort(ways.begin(), ways.end(),
                     [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    std::string text =
        fmt::format("at #{} of group {}, {} called {}", sequence, group, format_ranks(ways[0].second), ways[0].first);
    for (std::size_t i = 1; i < ways.size(); ++i) {
      text += fmt::format("{}{} went another way: {}", i == 1 ? ", but " : ", and ", format_ranks(ways[i].second),
                          ways[i].first);
    }
    return text;
  }
  return std::nullopt;
}

const Operation* last_of(const RankFile& file, const std::string& group) {
  const Operation* last = nullptr;
  for (const Operation& operation : file.operations) {
    if (operation.group == group && operation.sequence != 0) last = &operation;
  }
  return last;
}

// Who is behind the others in a group.
std::vector<std::string> find_laggards(const std::string& group, const Calls& calls,
                                       const std::vector<RankFile>& files) {
  std::vector<std::string> findings;
  if (calls.empty()) return findings;
  const auto& [sequence, by_rank] = *calls.rbegin();
  for (const RankFile& file : files) {
    const Operation* last = last_of(file, group);
    if (last == nullptr || last->sequence >= sequence) continue;
    findings.push_back(fmt::format("rank {} did not come to #{} of group {}, {}; its last was #{}, {}, {}{}", file.rank,
                                   sequence, group, by_rank.begin()->second->describe(), last->sequence,
                                   last->describe(), last->state, where(file)));
  }
  return findings;
}

Table make_table(const std::vector<RankFile>& files) {
  Table table({{"rank", ""}, {"host", ""}, {"pid", ""}, {"last", "last collective"}, {"state", ""}, {"reason", ""}});
  for (const RankFile& file : files) {
    const Operation* last = nullptr;
    for (const Operation& operation : file.operations) {
      if (operation.sequence != 0) last = &operation;
    }
    table.add_row({std::int64_t{file.rank}, file.host, std::to_string(file.pid),
                   last == nullptr ? "none" : fmt::format("#{} {}", last->sequence, last->describe()),
                   last == nullptr ? "" : last->state, file.reason});
  }
  return table;
}

}  // namespace

PostMortem read_post_mortem(const fs::path& folder) {
  const std::vector<RankFile> files = read_newest_job(folder);
  PostMortem result{.size = files.front().size, .findings = {}, .ranks = make_table(files)};
  for (const auto& [group, calls] : collectives(files)) {
    if (const auto disagreement = find_disagreement(group, calls)) {
      result.findings.push_back(*disagreement);
    } else {
      const auto laggards = find_laggards(group, calls, files);
      result.findings.insert(result.findings.end(), laggards.begin(), laggards.end());
    }
  }
  std::set<int> there;
  for (const RankFile& file : files) there.insert(file.rank);
  std::vector<int> silent;
  for (int rank = 0; rank < result.size; ++rank) {
    if (!there.contains(rank)) silent.push_back(rank);
  }
  if (!silent.empty()) {
    result.findings.push_back(format_ranks(silent) + " left nothing: killed, or on a host whose files are elsewhere");
  }
  return result;
}

std::string to_text(const PostMortem& post_mortem) {
  std::string text;
  for (const std::string& finding : post_mortem.findings) text += escape_controls(finding) + "\n";
  if (post_mortem.findings.empty()) text += "all ranks were at the same collective\n";
  return text + "\n" + post_mortem.ranks.to_text();
}

std::string to_json(const PostMortem& post_mortem) {
  const nlohmann::json value = {{"size", post_mortem.size},
                                {"findings", post_mortem.findings},
                                {"ranks", nlohmann::json::parse(post_mortem.ranks.to_json())}};
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
