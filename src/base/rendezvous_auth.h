// The mutual proof of the token: two nonces, and one HMAC of both in each direction. The HMACs cover different labels,
// so that one side's proof is worth nothing when it is sent back to it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <lockstep/base/token.h>

namespace lockstep::rendezvous {

inline constexpr std::size_t kNonceSize = 32;
inline constexpr std::size_t kProofSize = 32;
inline constexpr std::string_view kMagic = "LOCKSTEP";
inline constexpr std::string_view kVersion = "0001";
inline constexpr std::size_t kHelloSize = kMagic.size() + kVersion.size() + kNonceSize;
inline constexpr std::size_t kAnswerSize = kNonceSize + kProofSize;

// The server's side.
std::string hello(std::string_view server_nonce);
bool answer_is_right(const Token& token, std::string_view server_nonce, std::string_view answer);
std::string proof_for(const Token& token, std::string_view server_nonce, std::string_view answer);

// The client's side. The first two throw RuntimeError when the other side is no rendezvous, or one of another version.
void require_magic(std::string_view hello);
std::string nonce_in(std::string_view hello);
std::string answer_to(const Token& token, std::string_view server_nonce);
bool proof_is_right(const Token& token, std::string_view server_nonce, std::string_view answer, std::string_view proof);

}  // namespace lockstep::rendezvous
