#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/base/fd.h>
#include <lockstep/launch/child.h>

#include "turn_lines.h"

namespace lockstep::bench {

// Another program that trains a model, warm and waiting between the turns that it is asked for. It ends with this
// object, and with this process.
class TurnTaker {
 public:
  // The first of the words is looked for in PATH. Throws RuntimeError when it cannot be started.
  TurnTaker(std::vector<std::string> command, std::map<std::string, std::string> environment = {});
  ~TurnTaker();
  TurnTaker(const TurnTaker&) = delete;
  TurnTaker& operator=(const TurnTaker&) = delete;

  // Each throws RuntimeError, with the last that the program wrote to stderr, when it ends, says something else, or
  // takes much longer than it should.
  Ready wait_until_ready(std::chrono::seconds time);
  Turn take(std::chrono::duration<double> length);

 private:
  std::string read_line(std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void fail(const std::string& message) const;

  UniqueFd requests_, answers_, errors_;
  std::string read_;  // what came behind the last line
  std::unique_ptr<launch::Child> child_;
};

}  // namespace lockstep::bench
