// A real browser, Chromium without a window, that opens a page and does in it what a person would.
#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/base/fd.h>

#include "running_command.h"
#include "temporary_folder.h"

namespace lockstep::test {

// Speaks Chromium's DevTools protocol over two pipes: no port is opened. Every call waits for an answer, half a minute
// at most, and throws std::runtime_error without one. The browser and its processes end with the object.
class Browser {
 public:
  Browser();

  // Returns when the page and all that it asks for are loaded. Forgets what earlier pages asked and complained.
  void open(const std::filesystem::path& file);

  // The value of an expression of JavaScript, awaited if it is a promise. Throws when it throws.
  nlohmann::json evaluate(const std::string& expression);

  // In pixels of the page's window.
  void move_pointer(double x, double y);
  // "ArrowRight"
  void press_key(const std::string& key);
  // What the system would ask of pages: "light" or "dark"; on the "screen" or in "print".
  void prefer_scheme(const std::string& scheme, const std::string& medium = "screen");

  // The addresses that the page asked for, its own first.
  const std::vector<std::string>& requests() const { return requests_; }
  // What its scripts threw, and what the browser refused it.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  nlohmann::json call(const std::string& method, const nlohmann::json& parameters);
  nlohmann::json next_message(std::chrono::steady_clock::time_point deadline);
  void note(const nlohmann::json& event);

  const TemporaryFolder profile_;
  UniqueFd to_, from_;
  std::unique_ptr<RunningCommand> process_;
  std::string session_, unread_;
  int last_call_ = 0;
  bool is_loaded_ = false;
  std::vector<std::string> requests_, complaints_;
};

}  // namespace lockstep::test
