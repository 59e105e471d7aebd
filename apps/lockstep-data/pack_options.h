#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/progress.h>
#include <lockstep/data/tools/pack.h>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::app {

// How pictures are packed, as the flags of `pack` and `prepare` say it.
struct PackWords {
  int size = 0;
  bool raw = false, jpeg = false, unchecked = false, replace = false;
  int quality = 92;
  int workers = 0;
  std::string on_error = "stop";
  int max_bad = 100;

  data::PackOptions options() const;
};

// Returns the flags that it adds.
std::vector<CLI::Option*> add_pack_options(CLI::App& verb, PackWords& words);

// "packed 60,000 pictures into OUT.lsp, 91.2 MiB", and what was left out.
void print_packed(const data::PackResult& result, const std::string& target);

// How far packing has come: a bar on a terminal, else a line every ten seconds.
class PackBar {
 public:
  explicit PackBar(std::string title) : title_(std::move(title)) {}

  // `total` is 0 when it is not known.
  void update(std::int64_t done, std::int64_t total, std::uint64_t bytes);
  void finish();

 private:
  std::string title_, details_;
  std::optional<Progress> line_;
  std::int64_t first_ = 0;  // what an earlier run had done
  std::chrono::steady_clock::time_point started_;
};

}  // namespace lockstep::app
