// lockstep data verify: whether every picture of a data set can be used.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/progress.h>
#include <lockstep/base/text.h>
#include <lockstep/data/tools/verify.h>

#include "verbs.h"
#include "words.h"

namespace lockstep::app {
namespace {

using data::VerifyResult;

struct Words {
  std::string path;
  data::VerifyOptions options;
  bool json = false;
};

std::string kind_of(const VerifyResult& result) {
  return result.kind == VerifyResult::Kind::kPacked ? "packed" : "folder";
}

void print_json(const VerifyResult& result, const std::string& path) {
  nlohmann::json bad = nlohmann::json::array();
  for (const auto& [index, name, reason] : result.bad) {
    bad.push_back({{"index", index}, {"name", name}, {"reason", reason}});
  }
  const nlohmann::json json = {{"path", path},
                               {"kind", kind_of(result)},
                               {"good", result.good()},
                               {"samples", result.samples},
                               {"classes", result.classes},
                               {"bytes", result.bytes},
                               {"damage", result.damage},
                               {"bad_count", result.bad_count},
                               {"bad", bad}};
  std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_text(const VerifyResult& result, const std::string& path) {
  for (const auto& [index, name, reason] : result.bad) {
    fmt::print("bad: {} (sample {}): {}\n", escape_controls(name), index, escape_controls(reason));
  }
  if (const auto others = result.bad_count - std::ssize(result.bad); others > 0) fmt::print("and {} more\n", others);
  if (!result.damage.empty()) fmt::print("damaged: {}\n", escape_controls(result.damage));
  fmt::print("{}: {}, {}, {}: {}\n", escape_controls(path), format_plural(result.samples, "picture"),
             format_classes(result.classes), format_bytes(result.bytes),
             result.good()           ? "all good"
             : result.damage.empty() ? format_plural(result.bad_count, "bad picture")
                                     : "it is damaged");
}

int run(const Words& words) {
  std::optional<Progress> bar;
  const auto show = [&](std::int64_t done, std::int64_t total) {
    if (words.json) return;
    if (!bar) bar.emplace("verify", total, true, std::chrono::seconds(10));
    if (done == total) {
      bar->finish("");
    } else {
      bar->update(done, "");
    }
  };
  const VerifyResult result = data::verify(words.path, words.options, show);
  words.json ? print_json(result, words.path) : print_text(result, words.path);
  return result.good() ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_verify(CLI::App& data, Action& action) {
  CLI::App* verb = data.add_subcommand("verify", "Says whether every picture of a data set can be used");
  auto words = std::make_shared<Words>();
  verb->add_option("path", words->path,
                   "A packed file, a folder with a folder of pictures for each class, or that of CIFAR or MNIST")
      ->type_name("PATH")
      ->required();
  verb->add_flag("--decode", words->options.decode,
                 "Decode the pictures of a packed file too, not only their checksums");
  verb->add_option("--workers", words->options.workers, "Threads (default: one for each CPU)")
      ->check(CLI::Range(1, 1024));
  verb->add_flag("--json", words->json, "One JSON value on stdout");
  verb->footer("Exit code 0: all is good; 1: something is bad and was named; 2: it cannot be opened as a data set");
  verb->callback([words, &action] { action = [words] { return run(*words); }; });
}

}  // namespace lockstep::app
