#include "rendezvous_auth.h"

#include <openssl/crypto.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::rendezvous {
namespace {

std::string proof(const Token& token, std::string_view label, std::string_view server_nonce, std::string_view answer) {
  return token.authenticate(fmt::format("{}{}{}", label, server_nonce, answer.substr(0, kNonceSize)));
}

std::string client_proof(const Token& token, std::string_view server_nonce, std::string_view client_nonce) {
  return proof(token, "lockstep client", server_nonce, client_nonce);
}

std::string server_proof(const Token& token, std::string_view server_nonce, std::string_view client_nonce) {
  return proof(token, "lockstep server", server_nonce, client_nonce);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string hello(std::string_view server_nonce) {
  return fmt::format("{}{}{}", kMagic, kVersion, server_nonce);
}

bool answer_is_right(const Token& token, std::string_view server_nonce, std::string_view answer) {
  return answer.size() == kAnswerSize &&
         equal_in_constant_time(client_proof(token, server_nonce, answer), answer.substr(kNonceSize));
}

std::string proof_for(const Token& token, std::string_view server_nonce, std::string_view answer) {
  return server_proof(token, server_nonce, answer);
}

void require_magic(std::string_view hello) {
  if (hello.starts_with(kMagic)) return;
  throw RuntimeError({.message = "what answers there is not a rendezvous of Lockstep",
                      .next = "check the address and the port; another program may hold it"});
}

std::string nonce_in(std::string_view hello) {
  require_magic(hello);
  const std::string_view version = hello.substr(kMagic.size(), kVersion.size());
  if (version != kVersion) {
    throw RuntimeError({.message = "the rendezvous speaks another version",
                        .found = std::string(version),
                        .expected = std::string(kVersion),
                        .next = "use one version of Lockstep on all nodes"});
  }
  return std::string(hello.substr(kMagic.size() + kVersion.size()));
}

std::string answer_to(const Token& token, std::string_view server_nonce) {
  const std::string nonce = random_bytes(kNonceSize);
  return nonce + client_proof(token, server_nonce, nonce);
}

bool proof_is_right(const Token& token, std::string_view server_nonce, std::string_view answer,
                    std::string_view proof) {
  return equal_in_constant_time(server_proof(token, server_nonce, answer), proof);
}

}  // namespace lockstep::rendezvous
