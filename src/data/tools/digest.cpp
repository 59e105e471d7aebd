#include "digest.h"

#include <lockstep/base/files.h>

namespace lockstep::data {
namespace {

constexpr std::string_view kSha256 = "sha256:", kMd5 = "md5:";

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

bool is_digest(std::string_view text) {
  if (text.starts_with(kSha256)) return is_hex(text.substr(kSha256.size()), 64);
  return text.starts_with(kMd5) && is_hex(text.substr(kMd5.size()), 32);
}

std::string digest_of_file(const std::filesystem::path& path, std::string_view like) {
  if (like.starts_with(kSha256)) return std::string(kSha256) + files::sha256_of_file(path);
  return std::string(kMd5) + files::md5_of_file(path);
}

}  // namespace lockstep::data
