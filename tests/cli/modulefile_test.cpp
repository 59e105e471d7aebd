// The modulefile in docs/clusters, under real Environment Modules.
#include <gmock/gmock.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

// Installs it for `prefix`, as its page says, loads it, and goes on with `line`.
CommandResult with_module(const std::string& prefix, const std::string& line) {
  const TemporaryFolder modules;
  std::filesystem::create_directory(modules.path() / "lockstep");
  const std::string source = test::source_path("docs/clusters/lockstep.tcl").string();
  const std::string file = (modules.path() / "lockstep/0.1.0").string();
  return run_command({"bash", "-c",
                      "source /usr/share/modules/init/bash\n"
                      "sed 's,^set prefix .*,set prefix " +
                          prefix + ",' " + source + " >" + file + "\nmodule use " + modules.path().string() +
                          "\nmodule load lockstep/0.1.0 || exit 1\n" + line});
}

TEST(Modulefile, PutsLockstepIntoThePath) {
  const std::string prefix = std::filesystem::path(program_path("")).parent_path().parent_path().string();
  const CommandResult result =
      with_module(prefix, "command -v lockstep; echo $CMAKE_PREFIX_PATH; module unload lockstep; command -v lockstep");
  EXPECT_EQ(result.out, prefix + "/bin/lockstep\n" + prefix + "\n") << result.err;
}

TEST(Modulefile, RefusesAPrefixWithoutLockstep) {
  const CommandResult result = with_module("/nowhere", "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no /nowhere/bin/lockstep"));
}

}  // namespace
}  // namespace lockstep::test
