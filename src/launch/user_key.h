#pragma once
#include <filesystem>
#include <string>

#include <lockstep/base/token.h>

namespace lockstep::launch {

// The token of a job whose nodes were started one by one. It comes from `file`, if that is named; else from the user's
// key in ~/.lockstep/key, which is made when it is first needed, and `job`, which all nodes say alike.
//
// Throws UsageError when the file is not fit for a secret, or there is no home.
Token job_token(const std::filesystem::path& file, const std::string& job);

// A job's token in a file of mode 0600 in ~/.lockstep, for agents that nothing else reaches. Removed at the end.
class TokenFile {
 public:
  explicit TokenFile(const Token& token);
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  ~TokenFile();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::launch
