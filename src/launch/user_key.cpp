#include "user_key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::launch {
namespace {

// Complete from the moment that it has its name, even if two nodes make it at once in a home that they share: the first
// link counts.
void make_key(const std::filesystem::path& path) {
  const std::string draft =
      fmt::format("{}.{}.{:02x}", path.string(), ::getpid(), static_cast<unsigned char>(random_bytes(1)[0]));
  const UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) throw system_error("cannot make '" + draft + "'", errno);
  Token::generate().write(file.get());
  const bool linked = ::fsync(file.get()) == 0 && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  ::unlink(draft.c_str());
  if (!linked) throw system_error("cannot make '" + path.string() + "'", error);
}

}  // namespace

Token job_token(const std::filesystem::path& file, const std::string& job) {
  if (!file.empty()) return Token::read_file(file);
  const auto home = env::get("HOME");
  if (!home) {
    throw UsageError({.message = "HOME is not set, so there is no key that the nodes could share",
                      .next = "give all nodes one --token-file"});
  }
  const std::filesystem::path folder = std::filesystem::path(*home) / ".lockstep";
  const std::filesystem::path path = folder / "key";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);  // what is wrong shows when the key is made
  if (!std::filesystem::exists(path)) make_key(path);
  std::string digits;
  for (const char byte : Token::read_file(path).authenticate("lockstep job " + job)) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return Token::parse(digits);
}

}  // namespace lockstep::launch
