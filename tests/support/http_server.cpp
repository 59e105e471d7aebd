#include "http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::test {
namespace {

void send_all(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the other side has had enough
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_head(int connection) {
  std::string head;
  std::array<char, 1024> piece{};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = ::recv(connection, piece.data(), piece.size(), 0);
    if (count <= 0) break;
    head.append(piece.data(), static_cast<std::size_t>(count));
  }
  return head;
}

HttpRequest parse(const std::string& head) {
  HttpRequest request;
  std::istringstream lines(head);
  std::string method;
  lines >> method >> request.path;
  if (!request.path.empty()) request.path.erase(0, 1);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with("Range: ")) request.range = line.substr(7);
    if (line.starts_with("If-Range: ")) request.if_range = line.substr(10);
  }
  return request;
}

void wait_for_hangup(int connection) {
  char byte = 0;
  while (::recv(connection, &byte, 1, 0) > 0) {
  }
}

}  // namespace

HttpServer::HttpServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), plain, length) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), plain, &length) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

HttpServer::~HttpServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

std::string HttpServer::address() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

void HttpServer::serve(const std::string& path, HttpFile file) {
  const std::lock_guard lock(mutex_);
  files_[path] = std::move(file);
}

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::run() {
  for (;;) {
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    answer(connection.get());
  }
}

HttpFile HttpServer::take_file(const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  const auto found = files_.find(request.path);
  if (found == files_.end()) return {.status = 404};
  const HttpFile file = found->second;
  if (found->second.breaks > 0) --found->second.breaks;
  return file;
}

void HttpServer::answer(int connection) {
  const HttpRequest request = parse(read_head(connection));
  const HttpFile file = take_file(request);
  if (file.status != 200) {
    const std::string location = file.location.empty() ? "" : fmt::format("Location: {}\r\n", file.location);
    send_all(connection,
             fmt::format("HTTP/1.1 {} No\r\n{}Content-Length: 0\r\nConnection: close\r\n\r\n", file.status, location));
    return;
  }
  const std::string tag = file.tag.empty() ? "" : fmt::format("\"{}\"", file.tag);
  const bool is_same = request.if_range.empty() || request.if_range == tag;
  std::size_t start = 0;
  std::string head = "HTTP/1.1 200 OK\r\n";
  if (request.range.starts_with("bytes=") && file.ranges && is_same) {
    start = std::stoul(request.range.substr(6));
    head = fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", start,
                       file.content.size() - 1, file.content.size());
  }
  const std::string_view content = std::string_view(file.content).substr(start);
  const auto length = static_cast<std::ptrdiff_t>(content.size()) + file.length_error;
  if (!tag.empty()) head += fmt::format("ETag: {}\r\n", tag);
  send_all(connection, head + fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n", length));
  const bool only_half = file.breaks > 0 || file.falls_silent;
  send_all(connection, only_half ? content.substr(0, content.size() / 2) : content);
  if (file.falls_silent) wait_for_hangup(connection);
}

}  // namespace lockstep::test
