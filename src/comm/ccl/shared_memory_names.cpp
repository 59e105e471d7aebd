#include "shared_memory_names.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::comm::ccl {
namespace {

// libfabric calls them "PID:..." or "fi_shm_PID...".
bool is_ours(const std::string& name) {
  const std::string pid = std::to_string(::getpid());
  return name.starts_with(pid + ":") || name.starts_with("fi_shm_" + pid + ":");
}

}  // namespace

SharedMemoryNames::~SharedMemoryNames() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    if (is_ours(entry.path().filename().string())) std::filesystem::remove(entry.path(), ignored);
  }
}

void SharedMemoryNames::meet(Engine& engine, int ranks, const Patience& patience) const {
  std::vector<std::byte> sent(static_cast<std::size_t>(ranks)), received(sent.size());
  std::vector<ConstBlock> inputs;
  std::vector<Block> outputs;
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    inputs.push_back({&sent[rank], 1});
    outputs.push_back({&received[rank], 1});
  }
  engine.exchange(inputs, outputs, patience);
  engine.barrier(patience);
}

}  // namespace lockstep::comm::ccl
