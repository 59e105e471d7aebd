// A job of `lockstep run` under way, and the points that its ranks have come to.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "command.h"
#include "running_command.h"
#include "temporary_folder.h"

namespace lockstep::test {

using Words = std::vector<std::string>;

// A folder in which each rank that has come to a point NAME makes a file NAME.RANK.PID.
class Marks {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }

  // Rank -> process, of those that have made the mark.
  std::map<int, int> of(const std::string& name) const {
    std::map<int, int> pids;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string file = entry.path().filename();
      if (!file.starts_with(name + ".")) continue;
      const std::size_t dot = file.rfind('.');
      pids[std::stoi(file.substr(name.size() + 1))] = std::stoi(file.substr(dot + 1));
    }
    return pids;
  }

  // Waits for `ranks` of them; fewer when they do not come.
  std::map<int, int> await(const std::string& name, std::size_t ranks) const {
    eventually([&] { return of(name).size() >= ranks; }, std::chrono::seconds(30));
    return of(name);
  }

  void forget() const {
    for (const auto& mark : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(mark);
  }

 private:
  TemporaryFolder folder_;
};

// What a rank runs: a shell script in which `mark NAME` makes a mark.
inline Words script(const std::string& text) {
  return {"sh", "-c", "mark() { : > $MARKS/$1.$RANK.$$; }; " + text};
}

constexpr const char* kSleep = "mark up; exec sleep 1000";
constexpr const char* kStubborn = "trap '' TERM INT HUP; mark up; while :; do sleep 1; done";
constexpr const char* kWithChild = "sleep 1000 & mark up; wait";
constexpr const char* kWithRunaway = "(setsid sleep 1000 &); mark up; exec sleep 1000";

// Nothing here is the claim that a test makes: a machine that is busy with other things takes its time.
constexpr auto kSoon = std::chrono::seconds(30);
// Within this the issue promises that a job is gone.
constexpr auto kPromised = std::chrono::seconds(5);

// lockstep run FLAGS -- PROGRAM
inline Words run_words(const Words& flags, const Words& program) {
  Words words = {program_path("lockstep"), "run"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

class RunningJob : public ::testing::Test {
 protected:
  // Starts it and waits until `up` ranks have made the mark "up".
  void start(const Words& flags, const Words& program, std::size_t up) {
    launcher_.emplace(run_words(flags, program), Environment{{"MARKS", marks_.folder().string()}});
    ASSERT_EQ(marks_.await("up", up).size(), up) << launcher_->err();
  }
  void start(int ranks, const char* text) {
    start({"-n", std::to_string(ranks)}, script(text), static_cast<std::size_t>(ranks));
  }

  // The launcher's second process, which does the work.
  int body() const { return children_of(launcher_->pid()).at(0); }

  bool nothing_is_left(std::chrono::milliseconds limit) const {
    return eventually([&] { return launcher_->processes().empty(); }, limit);
  }

  using Environment = std::map<std::string, std::string>;
  Marks marks_;
  std::optional<RunningCommand> launcher_;
};

}  // namespace lockstep::test
