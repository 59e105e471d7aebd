// The samples in docs/clusters are what the commands in its pages print.
#include <gmock/gmock.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/text.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

const std::filesystem::path kPages = test::source_path("docs/clusters");

struct Sample {
  std::string command;  // with its "> FILE"
  std::string file;
};

// The commands behind "$ " that write a file, continued lines included.
std::vector<Sample> samples_of(const std::filesystem::path& page) {
  std::vector<Sample> samples;
  std::string command;
  for (const std::string& line : split(content(page), '\n')) {
    if (command.empty() && !line.starts_with("$ lockstep submit")) continue;
    command += command.empty() ? line.substr(2) : "\n" + line;
    if (line.ends_with("\\")) continue;
    const std::size_t arrow = command.find(" > ");
    if (arrow != std::string::npos) samples.push_back({command, command.substr(arrow + 3)});
    command.clear();
  }
  return samples;
}

// What the command writes, as if it had been run in /home/ann/train. The folder's real name is as long as that one, so
// that lines break at the same places.
CommandResult printed_by(const Sample& sample) {
  const std::string script =
      "set -e; folder=$(mktemp -d /tmp/net-XXXXXX); trap 'rm -r $folder' EXIT; cd $folder\n"
      "touch resnet50.yaml\n" +
      sample.command + "\nsed \"s,$folder,/home/ann/train,g\" " + sample.file;
  return run_command({"bash", "-c", script},
                     {.environment = {{"PATH", program_path("") + ":" + env::get("PATH").value_or("")}}});
}

TEST(ClusterPages, EverySampleIsWhatItsCommandPrints) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kPages)) {
    if (entry.path().extension() != ".md") continue;
    for (const Sample& sample : samples_of(entry.path())) {
      const CommandResult result = printed_by(sample);
      ASSERT_EQ(result.exit_code, 0) << sample.command << result.err;
      EXPECT_EQ(content(kPages / sample.file), result.out) << entry.path() << ": " << sample.command;
      ++count;
    }
  }
  EXPECT_EQ(count, 6U);
}

TEST(ClusterPages, EveryLinkLeadsToAFile) {
  for (const auto& entry : std::filesystem::directory_iterator(kPages)) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = content(entry.path());
    for (std::size_t at = 0; (at = text.find("](", at)) != std::string::npos; ++at) {
      const std::string target = text.substr(at + 2, text.find_first_of(")#", at + 2) - at - 2);
      if (target.empty() || target.starts_with("https:")) continue;
      EXPECT_TRUE(std::filesystem::exists(kPages / target)) << entry.path() << ": " << target;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
