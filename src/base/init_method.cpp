#include <lockstep/base/init_method.h>

#include <charconv>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

UsageError not_understood(const std::string& text) {
  return UsageError(
      {.message = "the init method is not understood",
       .found = text,
       .expected = "env://, tcp://HOST:PORT or file:///PATH, and ?rank=R&world_size=N behind the last two"});
}

std::optional<int> read_int(const std::string& digits, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < least || value > most) return {};
  return value;
}

// "rank=0&world_size=2"
RankId parse_rank(const std::string& query, const std::string& text) {
  std::optional<int> rank, size;
  constexpr int kMost = 1 << 24;
  for (const std::string& part : split(query, '&')) {
    if (part.starts_with("rank="))
      rank = read_int(part.substr(5), 0, kMost);
    else if (part.starts_with("world_size="))
      size = read_int(part.substr(11), 1, kMost);
    else
      throw not_understood(text);
  }
  if (!rank || !size) throw not_understood(text);
  return {*rank, *size};
}

}  // namespace

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return {};
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    return {};  // an IPv6 address without brackets: its end is not known
  constexpr int kMostPorts = 65535;
  const auto port = read_int(text.substr(colon + 1), 1, kMostPorts);
  if (!port || host.empty()) return {};
  return Endpoint{std::move(host), *port};
}

InitMethod parse_init_method(const std::string& text) {
  InitMethod method;
  if (text.empty()) return method;
  const std::size_t question = text.find('?');
  const std::string where = text.substr(0, question);
  if (question != std::string::npos) method.rank = parse_rank(text.substr(question + 1), text);
  if (where == "env://" && !method.rank) {
    method.kind = InitMethod::Kind::kEnvironment;
  } else if (where.starts_with("tcp://")) {
    const auto endpoint = parse_endpoint(where.substr(6));
    if (!endpoint) throw not_understood(text);
    method.kind = InitMethod::Kind::kTcp;
    method.host = endpoint->host;
    method.port = endpoint->port;
  } else if (where.starts_with("file:///") && where.size() > 8) {
    method.kind = InitMethod::Kind::kFile;
    method.path = where.substr(7);
  } else {
    throw not_understood(text);
  }
  return method;
}

}  // namespace lockstep
