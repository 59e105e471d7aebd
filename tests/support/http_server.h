// An HTTP server of the test's own on loopback, with the faults that servers have.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <lockstep/base/fd.h>

namespace lockstep::test {

// What is given out under a path.
struct HttpFile {
  std::string content;
  std::string tag;                  // ETag, without quotes; empty: none
  int status = 200;                 // another: only that
  std::string location;             // with a status of 3xx
  bool ranges = true;               // whether a part can be asked for
  int breaks = 0;                   // how many answers break off in their middle
  bool falls_silent = false;        // after its first half, until the other side gives up
  std::ptrdiff_t length_error = 0;  // how much longer than it is the content is said to be
};

struct HttpRequest {
  std::string path, range, if_range;
};

class HttpServer {
 public:
  HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // "http://127.0.0.1:PORT"
  std::string address() const;

  // `path` is without the first "/".
  void serve(const std::string& path, HttpFile file);

  std::vector<HttpRequest> requests() const;

 private:
  void run();
  void answer(int connection);
  HttpFile take_file(const HttpRequest& request);

  UniqueFd listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, HttpFile> files_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

}  // namespace lockstep::test
