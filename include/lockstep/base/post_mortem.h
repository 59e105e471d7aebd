// What the ranks of a job left behind, read together.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/base/table.h>

namespace lockstep {

struct PostMortem {
  int size = 0;                       // ranks of the job
  std::vector<std::string> findings;  // sentences, the most telling first
  Table ranks;                        // a row for each rank
};

// Reads rank-*.json in `folder`, of the newest job among them. Throws UsageError when there is none, or when a file is
// not what a rank writes.
PostMortem read_post_mortem(const std::filesystem::path& folder);

std::string to_text(const PostMortem& post_mortem);
std::string to_json(const PostMortem& post_mortem);

}  // namespace lockstep
