// lockstep data pack: a data set into one file.
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/open_pictures.h>

#include "pack_options.h"
#include "verbs.h"
#include "words.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string source, target, split;
  PackWords pack;
};

data::Split split_of(const Words& words) {
  if (!words.split.empty() && !data::has_splits(words.source)) {
    throw UsageError({.message = fmt::format("'{}' has no parts that --split could choose from", words.source),
                      .expected = "the folder of CIFAR or MNIST",
                      .next = "give the folder or file of the part itself, without --split"});
  }
  return words.split == "test" ? data::Split::kTest : data::Split::kTrain;
}

int run(const Words& words) {
  if (!words.target.ends_with(".lsp")) {
    throw UsageError({.message = "a packed file's name ends with .lsp", .found = words.target});
  }
  const auto set = data::open_pictures(words.source, split_of(words));
  fmt::print("{} of {} in {}\n", format_plural(set->size(), "picture"), format_classes(std::ssize(set->classes())),
             escape_controls(words.source));
  PackBar bar("pack");
  const data::PackResult result =
      data::pack(*set, words.target, words.pack.options(),
                 [&](std::int64_t done, std::int64_t total, std::uint64_t bytes) { bar.update(done, total, bytes); });
  bar.finish();
  if (result.resumed > 0) fmt::print("went on after {}\n", format_plural(result.resumed, "picture"));
  print_packed(result, words.target);
  return kExitSuccess;
}

}  // namespace

void add_pack(CLI::App& data, Action& action) {
  CLI::App* verb = data.add_subcommand("pack", "Puts a data set into one file, which is read faster");
  auto words = std::make_shared<Words>();
  verb->add_option("source", words->source,
                   "A folder with a folder of pictures for each class, that of CIFAR or MNIST, or a packed file")
      ->type_name("SRC")
      ->required();
  verb->add_option("target", words->target, "The file to make; what was interrupted goes on")
      ->type_name("OUT.lsp")
      ->required();
  verb->add_option("--split", words->split, "Which part of CIFAR or MNIST: train (the default) or test")
      ->type_name("PART")
      ->check(CLI::IsMember({"train", "test"}));
  add_pack_options(*verb, words->pack);
  verb->footer("lockstep data pack SRC OUT.lsp [--size 256 [--raw]]");
  verb->callback([words, &action] { action = [words] { return run(*words); }; });
}

}  // namespace lockstep::app
