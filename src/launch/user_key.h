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

}  // namespace lockstep::launch
