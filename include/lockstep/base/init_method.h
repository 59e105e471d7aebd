// Where ranks meet, in PyTorch's words.
#pragma once
#include <optional>
#include <string>

#include <lockstep/base/rank.h>

namespace lockstep {

struct InitMethod {
  enum class Kind { kAutomatic, kEnvironment, kTcp, kFile };
  Kind kind = Kind::kAutomatic;
  std::string host;  // of kTcp
  int port = 0;
  std::string path;            // of kFile
  std::optional<RankId> rank;  // tcp://HOST:PORT?rank=0&world_size=2
};

// Empty, "env://", "tcp://HOST:PORT", "tcp://[::1]:PORT" or "file:///PATH", the last two with ?rank=R&world_size=N or
// without. Throws UsageError for anything else.
InitMethod parse_init_method(const std::string& text);

struct Endpoint {
  std::string host;
  int port = 0;
};

// "HOST:PORT" or "[ADDRESS]:PORT"; nothing when it is neither.
std::optional<Endpoint> parse_endpoint(const std::string& text);

}  // namespace lockstep
