#include <lockstep/data/tools/download.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/base/version.h>

namespace lockstep::data {
namespace {

using State = DownloadResult::State;
constexpr long kOk = 200, kPartialContent = 206, kRangeNotSatisfiable = 416, kFirstServerError = 500;
constexpr long kLowSpeed = 1000;

void check(CURLcode code, const char* what) {
  if (code != CURLE_OK) throw RuntimeError(fmt::format("{} of libcurl failed: {}", what, ::curl_easy_strerror(code)));
}

using Handle = std::unique_ptr<CURL, void (*)(CURL*)>;

Handle make_handle() {
  // Once for the process; libcurl need not be told that it ends.
  static const CURLcode started = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  check(started, "curl_global_init");
  Handle handle(::curl_easy_init(), &::curl_easy_cleanup);
  if (handle == nullptr) throw RuntimeError("curl_easy_init of libcurl failed");
  return handle;
}

std::filesystem::path origin_file(const std::filesystem::path& target) {
  return target.string() + ".from";
}

class Transfer {
 public:
  Transfer(std::string url, std::filesystem::path target, std::uint64_t size, const DownloadOptions& options,
           const std::function<void(std::uint64_t)>& progress)
      : url_(std::move(url)), target_(std::move(target)), size_(size), options_(options), progress_(progress) {
    fd_ = UniqueFd(::open(target_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd_) throw system_error(fmt::format("cannot write '{}'", target_.string()), errno);
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) throw system_error(fmt::format("cannot examine '{}'", target_.string()), errno);
    done_ = static_cast<std::uint64_t>(info.st_size);
    if (done_ > size_) restart();
    if (::lseek(fd_.get(), 0, SEEK_END) < 0) throw system_error("cannot seek in a download", errno);
  }

  DownloadResult run() {
    if (done_ == size_) return {.state = State::kDone, .problem = ""};
    prepare();
    const CURLcode code = ::curl_easy_perform(curl_.get());
    if (failure_) std::rethrow_exception(failure_);
    if (!refusal_.empty()) return {.state = State::kFailed, .problem = refusal_};
    if (code == CURLE_HTTP_RETURNED_ERROR) return refused_by_server();
    if (code != CURLE_OK) return {.state = state_of(code), .problem = problem_of(code)};
    if (done_ < size_) return {.state = State::kInterrupted, .problem = fmt::format("ended at {} bytes", done_)};
    return {.state = State::kDone, .problem = ""};
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    check(::curl_easy_setopt(curl_.get(), option, value), "curl_easy_setopt");
  }

  void prepare() {
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_NOSIGNAL, 1L);  // signals belong to the program
    set(CURLOPT_USERAGENT, agent_.c_str());
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, static_cast<long>(options_.max_redirects));
    set_protocols();
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, kLowSpeed);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stall_timeout.count()));
    set(CURLOPT_ERRORBUFFER, problem_.data());
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_content);
    if (done_ == 0) return;
    range_ = fmt::format("{}-", done_);
    set(CURLOPT_RANGE, range_.c_str());
    if (const std::string tag = tag_of_beginning(); !tag.empty()) {
      headers_.reset(::curl_slist_append(nullptr, ("If-Range: " + tag).c_str()));
      set(CURLOPT_HTTPHEADER, headers_.get());
    }
  }

  void set_protocols() {
#if LIBCURL_VERSION_NUM >= 0x075500
    const char* protocols = options_.allow_http ? "http,https" : "https";
    set(CURLOPT_PROTOCOLS_STR, protocols);
    set(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
#else
    const long protocols = CURLPROTO_HTTPS | (options_.allow_http ? CURLPROTO_HTTP : 0);
    set(CURLOPT_PROTOCOLS, protocols);
    set(CURLOPT_REDIR_PROTOCOLS, protocols);
#endif
  }

  // The ETag of the file whose beginning is there, when this same address gave it.
  std::string tag_of_beginning() const {
    std::error_code ignored;
    if (!std::filesystem::exists(origin_file(target_), ignored)) return {};
    constexpr std::uint64_t kLongest = 16 << 10;
    const std::string content = files::read(origin_file(target_), kLongest);
    const std::string start = url_ + "\n";
    return content.starts_with(start) ? content.substr(start.size()) : "";
  }

  // A server's answer begins, perhaps after one that sent us here.
  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {
      tag_.clear();
      content_range_.clear();
    }
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.remove_suffix(1);
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    // A weak one may stay the same when the bytes do not.
    if (name == "etag" && value.starts_with('"')) tag_ = value;
    if (name == "content-range") content_range_ = value;
  }

  // Looks at the answer when its content begins; false when that is not wanted.
  bool accept_answer() {
    long status = 0;
    curl_off_t length = -1;
    check(::curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status), "curl_easy_getinfo");
    check(::curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length), "curl_easy_getinfo");
    if (status == kPartialContent && done_ > 0) {
      const std::string expected = fmt::format("bytes {}-{}/{}", done_, size_ - 1, size_);
      if (content_range_ != expected) {
        refusal_ = fmt::format("sent the range '{}' instead of '{}'", content_range_, expected);
      }
    } else if (status == kOk) {
      restart();
    } else {
      refusal_ = fmt::format("answered with status {}", status);
    }
    if (refusal_.empty() && length >= 0 && done_ + static_cast<std::uint64_t>(length) != size_) {
      refusal_ = fmt::format("has a file of {} bytes instead of {}", done_ + static_cast<std::uint64_t>(length), size_);
    }
    if (refusal_.empty()) keep_origin();
    return refusal_.empty();
  }

  void keep_origin() const {
    if (tag_.empty()) {
      std::error_code ignored;
      std::filesystem::remove(origin_file(target_), ignored);
    } else {
      files::write_atomically(origin_file(target_), url_ + "\n" + tag_);
    }
  }

  bool take_content(std::string_view content) {
    if (!accepted_ && !accept_answer()) return false;
    accepted_ = true;
    if (content.size() > size_ - done_) {
      refusal_ = fmt::format("sent more than {} bytes", size_);
      return false;
    }
    if (const int error = files::write_all(fd_.get(), content); error != 0) {
      throw system_error(fmt::format("writing '{}'", target_.string()), error);
    }
    done_ += content.size();
    progress_(done_);
    return true;
  }

  void restart() {
    if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) {
      throw system_error(fmt::format("cannot empty '{}'", target_.string()), errno);
    }
    done_ = 0;
  }

  DownloadResult refused_by_server() {
    long status = 0;
    check(::curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status), "curl_easy_getinfo");
    const std::string problem = fmt::format("answered with status {}", status);
    if (status == kRangeNotSatisfiable && done_ > 0) {
      restart();
      return {.state = State::kInterrupted, .problem = problem};
    }
    return {.state = status >= kFirstServerError ? State::kInterrupted : State::kFailed, .problem = problem};
  }

  // What may pass by itself.
  static State state_of(CURLcode code) {
    constexpr std::array kPassing = {CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
                                     CURLE_HTTP2_STREAM};
    const bool passing = std::find(kPassing.begin(), kPassing.end(), code) != kPassing.end();
    return passing ? State::kInterrupted : State::kFailed;
  }

  std::string problem_of(CURLcode code) const {
    return problem_.front() != '\0' ? problem_.data() : ::curl_easy_strerror(code);
  }

  // libcurl is written in C: what is thrown must not pass through it, and any other count than that given ends the
  // transfer.
  template <typename Body>
  static std::size_t guarded(Transfer& self, std::size_t size, Body&& body) {
    try {
      return body() ? size : 0;
    } catch (...) {
      self.failure_ = std::current_exception();
      return 0;
    }
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    return guarded(transfer, size, [&] {
      transfer.take_header({data, size});
      return true;
    });
  }

  static std::size_t on_content(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    return guarded(transfer, size, [&] { return transfer.take_content({data, size}); });
  }

  const std::string url_;
  const std::filesystem::path target_;
  const std::uint64_t size_;
  const DownloadOptions& options_;
  const std::function<void(std::uint64_t)>& progress_;
  const std::string agent_ = "lockstep/" + version();
  const Handle curl_ = make_handle();
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers_{nullptr, &::curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> problem_{};
  std::string range_, tag_, content_range_, refusal_;
  std::exception_ptr failure_;
  UniqueFd fd_;
  std::uint64_t done_ = 0;
  bool accepted_ = false;
};

}  // namespace

DownloadResult download(const std::string& url, const std::filesystem::path& target, std::uint64_t size,
                        const DownloadOptions& options, const std::function<void(std::uint64_t)>& progress) {
  return Transfer(url, target, size, options, progress).run();
}

void discard_download(const std::filesystem::path& target) {
  std::error_code ignored;
  std::filesystem::remove(target, ignored);
  std::filesystem::remove(origin_file(target), ignored);
}

}  // namespace lockstep::data
