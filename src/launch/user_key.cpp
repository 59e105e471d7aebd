#include "user_key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::launch {
namespace {

std::filesystem::path own_folder() {
  const auto home = env::get("HOME");
  if (!home) {
    throw UsageError({.message = "HOME is not set, so there is no place for a secret that the nodes share",
                      .next = "set it, or give all nodes one --token-file"});
  }
  std::filesystem::path folder = std::filesystem::path(*home) / ".lockstep";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);  // what is wrong shows when a file is made in it
  return folder;
}

// A new file, for this user alone.
std::filesystem::path write_secret(const std::filesystem::path& folder, const Token& token) {
  std::string name = (folder / "secret-XXXXXX").string();
  const UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));  // mode 0600
  if (!file) throw system_error("cannot make '" + name + "'", errno);
  token.write(file.get());
  ::fsync(file.get());
  return name;
}

// Complete from the moment that it has its name, even if two nodes make it at once in a home that they share: the first
// link counts.
void make_key(const std::filesystem::path& path) {
  const std::filesystem::path draft = write_secret(path.parent_path(), Token::generate());
  const bool linked = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!linked) throw system_error("cannot make '" + path.string() + "'", error);
}

}  // namespace

Token job_token(const std::filesystem::path& file, const std::string& job) {
  if (!file.empty()) return Token::read_file(file);
  const std::filesystem::path path = own_folder() / "key";
  if (!std::filesystem::exists(path)) make_key(path);
  std::string digits;
  for (const char byte : Token::read_file(path).authenticate("lockstep job " + job)) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return Token::parse(digits);
}

TokenFile::TokenFile(const Token& token) : path_(write_secret(own_folder(), token)) {}

TokenFile::~TokenFile() {
  ::unlink(path_.c_str());
}

}  // namespace lockstep::launch
