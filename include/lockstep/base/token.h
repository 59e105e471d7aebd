// The secret of a job: 256 random bits that its processes share and nobody else knows. It leaves a process through a
// descriptor, or through MPI or a store when nothing else reaches the other ranks; never through an argument, a
// variable or a log. Memory that held it is wiped.
#pragma once
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <lockstep/base/fd.h>

namespace lockstep {

class Token {
 public:
  // A new one, from the kernel's random generator.
  static Token generate();

  // The token that the launcher passed on: from the inherited descriptor whose number is in LOCKSTEP_TOKEN_FD, else
  // from the file named by LOCKSTEP_TOKEN_FILE; nothing when neither is set. Programs that this process starts do not
  // inherit the descriptor any more.
  static std::optional<Token> from_environment();

  // Reads the 64 hexadecimal digits that `write` wrote: from the start of a memfd or file, whose offset is not moved,
  // so that many processes can share it; or from a pipe, until that many have come. The descriptor stays the caller's.
  // Throws UsageError when there is no token.
  static Token read(int fd);

  // As above. Throws UsageError when the file is missing, is another user's, or may be accessed by others.
  static Token read_file(const std::filesystem::path& path);

  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  ~Token();

  void write(int fd) const;

  // The 64 hexadecimal digits, for a way between two processes that only they can read; and back. `parse` throws
  // UsageError when `text` is no token.
  std::string reveal() const;
  static Token parse(std::string_view text);

  // A sealed file in memory that holds the token, for the processes of the job. It is close-on-exec: a launcher clears
  // that flag in the child between fork and exec, and sets LOCKSTEP_TOKEN_FD there.
  UniqueFd to_memfd() const;

  // HMAC-SHA256 of `message` under the token: 32 bytes that only a holder of the token can compute.
  std::string authenticate(std::string_view message) const;

 private:
  Token() = default;
  static Token read_from(int fd, const std::string& where);
  static Token decode(std::string_view digits, const std::string& where);

  std::array<unsigned char, 32> bytes_{};
};

// Bytes from the kernel's random generator, fit for keys and nonces.
std::string random_bytes(std::size_t count);

}  // namespace lockstep
