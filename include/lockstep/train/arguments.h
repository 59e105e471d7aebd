// What people type behind `lockstep train`, and the run that it describes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <lockstep/train/run.h>

namespace CLI {
class App;
}

namespace lockstep::train {

// A flag that sets a key: "-b 64".
struct Shorthand {
  std::string flag, path, value;
};

// How ranks are started: the business of the program that starts them. Ranks do not look at it.
struct RankArguments {
  int ranks = 0;           // -n: in all; 0: not said
  int ranks_per_node = 0;  // 0: not said
  // As in the ImageNet script: `nodes` and `node` are what it calls world size and rank.
  std::string dist_url;
  std::optional<int> nodes, node;
  bool each_gpu = false;  // --multiprocessing-distributed
};

struct Arguments {
  std::vector<std::string> words;  // CONFIG[:SECTION] and DATA
  std::string section;
  std::string data;
  std::vector<Shorthand> shorthands;
  std::vector<std::string> assignments;  // of --set
  std::string resume = "default";
  bool evaluate = false;
  bool print_config = false;
  bool list_keys = false;
  bool markdown = false;
  RankArguments ranks;
};

// Declares all of them on `verb`. `arguments` outlives the parsing.
void add_arguments(CLI::App& verb, Arguments& arguments);

// The config with what changes it, each over the one before: file and section, DATA and shorthands, --set. Without a
// file it is the ImageNet script's recipe. A file's name without a folder is looked for here, in configs/, and among
// the configs of the installation; data/NAME, where it is not here, among the data that came with it or lies in
// LOCKSTEP_DATA_DIR.
//
// Throws UsageError for words that make no sense together, and as config::load and read_config do.
RunOptions compose_run(const Arguments& arguments);

// The same as YAML, each value with where it came from.
std::string print_config(const Arguments& arguments);

// All keys, for people: a table, or a page of Markdown.
std::string list_keys(bool markdown);

}  // namespace lockstep::train
