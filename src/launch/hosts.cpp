#include "hosts.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/rendezvous_server.h>

#include "../base/host_name.h"

namespace lockstep::launch {
namespace {

constexpr std::uint64_t kLargestFile = 16 << 20;
constexpr int kMostRanks = 4096;

UsageError not_understood(const std::string& where, const std::string& found) {
  return UsageError({.message = where + " is not understood",
                     .found = found,
                     .expected = "a host name or address, with :N or slots=N behind it for N ranks there"});
}

// A host's name goes on ssh's command line: nothing there may look like an option or another word.
bool is_host_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._@%").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 255 && name.front() != '-' && std::all_of(name.begin(), name.end(), good);
}

int parse_ranks(std::string_view text, const std::string& where, const std::string& found) {
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (error != std::errc{} || end != text.data() + text.size() || ranks < 1 || ranks > kMostRanks) {
    throw not_understood(where, found);
  }
  return ranks;
}

Host parse_host(const std::string& word, const std::string& where) {
  const std::size_t colon = word.find(':');
  Host host{.name = word.substr(0, colon)};
  if (!is_host_name(host.name)) throw not_understood(where, word);
  if (colon != std::string::npos) host.ranks = parse_ranks(word.substr(colon + 1), where, word);
  return host;
}

void require_once(const std::vector<Host>& hosts) {
  std::set<std::string> seen;
  for (const Host& host : hosts) {
    if (seen.insert(host.name).second) continue;
    throw UsageError({.message = fmt::format("host '{}' is listed twice", host.name),
                      .next = fmt::format("list it once, with the number of its ranks: {}:2", host.name)});
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

}  // namespace

std::vector<Host> parse_hosts(const std::vector<std::string>& words) {
  std::vector<Host> hosts;
  for (const std::string& word : words) hosts.push_back(parse_host(word, "--hosts"));
  require_once(hosts);
  return hosts;
}

std::vector<Host> read_hostfile(const std::filesystem::path& path) {
  std::istringstream lines(files::read(path, kLargestFile));
  std::vector<Host> hosts;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    Host host = parse_host(words[0], where);
    for (std::size_t i = 1; i < words.size(); ++i) {
      constexpr std::string_view kSlots = "slots=";
      if (words[i].starts_with("max")) continue;  // Open MPI's max_slots and max-slots: we never start more than asked
      if (!words[i].starts_with(kSlots)) throw not_understood(where, line);
      host.ranks = parse_ranks(std::string_view(words[i]).substr(kSlots.size()), where, line);
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) throw UsageError({.message = fmt::format("'{}' lists no host", path.string())});
  require_once(hosts);
  return hosts;
}

std::vector<Host> read_nodefile(const std::filesystem::path& path) {
  std::istringstream lines(files::read(path, kLargestFile));
  std::vector<Host> hosts;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const std::string name = parse_host(words[0], path.string()).name;
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const Host& host) { return host.name == name; });
    if (known == hosts.end()) {
      hosts.push_back({.name = name, .ranks = 1});
    } else {
      ++known->ranks;
    }
  }
  return hosts;
}

bool is_this_host(const std::string& name) {
  const std::string here = host_name();
  return name == here || name == "localhost" || name == here.substr(0, here.find('.')) || !interface_of(name).empty();
}

}  // namespace lockstep::launch
