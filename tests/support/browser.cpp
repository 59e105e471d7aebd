#include "browser.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include <lockstep/base/files.h>

namespace lockstep::test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kLimit = 30s;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), 0) != 0) throw std::runtime_error("pipe2 failed");
    out = UniqueFd(ends[0]);
    in = UniqueFd(ends[1]);
  }
  UniqueFd out, in;
};

}  // namespace

Browser::Browser() {
  Pipe commands, answers;
  to_ = std::move(commands.in);
  from_ = std::move(answers.out);
  for (const int ours : {to_.get(), from_.get()}) ::fcntl(ours, F_SETFD, FD_CLOEXEC);
  process_ = std::make_unique<RunningCommand>(std::vector<std::string>{
      "bash", "-c", "exec 3<&\"$0\" 4>&\"$1\" chromium \"${@:2}\"", std::to_string(commands.out.get()),
      std::to_string(answers.in.get()), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
      "--disable-dev-shm-usage", "--no-first-run", "--window-size=1200,900", "--disable-background-networking",
      "--disable-component-update", "--user-data-dir=" + profile_.path().string(), "about:blank"});
  commands.out.reset();
  answers.in.reset();
  const Json target = call("Target.createTarget", {{"url", "about:blank"}});
  session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  for (const char* part : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) call(part, Json::object());
}

void Browser::open(const std::filesystem::path& file) {
  requests_.clear();
  complaints_.clear();
  is_loaded_ = false;
  call("Page.navigate", {{"url", "file://" + file.string()}});
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (!is_loaded_) note(next_message(deadline));
}

Json Browser::evaluate(const std::string& expression) {
  const Json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.contains("exceptionDetails")) {
    throw std::runtime_error(expression + " threw " + answer["exceptionDetails"].dump());
  }
  return answer["result"].value("value", Json());
}

void Browser::move_pointer(double x, double y) {
  call("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", x}, {"y", y}});
}

void Browser::press_key(const std::string& key) {
  for (const char* type : {"keyDown", "keyUp"}) call("Input.dispatchKeyEvent", {{"type", type}, {"key", key}});
}

void Browser::prefer_scheme(const std::string& scheme, const std::string& medium) {
  call("Emulation.setEmulatedMedia",
       {{"media", medium}, {"features", Json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
}

Json Browser::call(const std::string& method, const Json& parameters) {
  Json message = {{"id", ++last_call_}, {"method", method}, {"params", parameters}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump();
  if (files::write_all(to_.get(), {text.c_str(), text.size() + 1}) != 0) {
    throw std::runtime_error("the browser is gone: " + process_->err());
  }
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (true) {
    const Json answer = next_message(deadline);
    if (answer.value("id", 0) != last_call_) {
      note(answer);
    } else if (answer.contains("error")) {
      throw std::runtime_error(method + ": " + answer["error"].dump());
    } else {
      return answer["result"];
    }
  }
}

// Messages end with a zero byte.
Json Browser::next_message(std::chrono::steady_clock::time_point deadline) {
  std::size_t end = 0;
  while ((end = unread_.find('\0')) == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd watched{.fd = from_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) == 0) {
      throw std::runtime_error("the browser does not answer: " + process_->err());
    }
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = ::read(from_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::runtime_error("the browser is gone: " + process_->err());
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const Json message = Json::parse(unread_.substr(0, end));
  unread_.erase(0, end + 1);
  return message;
}

void Browser::note(const Json& event) {
  const std::string method = event.value("method", "");
  if (method == "Page.loadEventFired") is_loaded_ = true;
  if (method == "Network.requestWillBeSent") requests_.push_back(event["params"]["request"]["url"]);
  if (method == "Runtime.exceptionThrown") complaints_.push_back(event["params"].dump());
  if (method == "Log.entryAdded") complaints_.push_back(event["params"]["entry"].dump());
}

}  // namespace lockstep::test
