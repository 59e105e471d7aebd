// lockstep data prepare: archives as they are handed out, into data sets.
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/tools/prepare_imagenet.h>

#include "pack_options.h"
#include "verbs.h"
#include "words.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string train, val, truth, synsets, folder;
  bool pack = false;
  PackWords packing;
};

// What ILSVRC2012 has; another number may be what is wanted, so it is said and no more.
void say_if_other(const std::string& split, std::int64_t found, std::int64_t usual) {
  if (found != usual) fmt::print("note: ImageNet's {} has {} pictures\n", split, format_count(usual));
}

void print_split(const std::string& split, const data::PreparedSplit& result, std::int64_t usual) {
  const std::string path = escape_controls(result.path.string());
  if (result.was_there) {
    fmt::print("{}: {} was there already\n", split, path);
    return;
  }
  if (result.path.extension() == ".lsp") {
    print_packed(result.packed, result.path.string());
  } else {
    fmt::print("{}: {} in {}, in {}\n", split, format_plural(result.pictures, "picture"),
               format_classes(result.classes), path);
    if (result.classes_there > 0) fmt::print("  {} of the classes were there already\n", result.classes_there);
  }
  if (result.classes_there == 0) say_if_other(split, result.pictures, usual);
}

int run(const Words& words) {
  data::PrepareOptions options;
  if (words.pack) options.pack = words.packing.options();
  std::string shown;
  std::optional<PackBar> bar;
  const auto show = [&](const std::string& split, std::int64_t done, std::int64_t total, std::uint64_t bytes) {
    if (split != shown) {
      if (bar) bar->finish();
      shown = split;
      bar.emplace(split);
    }
    bar->update(done, total, bytes);
  };
  const data::PrepareResult result =
      data::prepare_imagenet({.train = words.train, .val = words.val, .truth = words.truth, .synsets = words.synsets},
                             words.folder, options, show);
  if (bar) bar->finish();
  if (result.train) print_split("train", *result.train, 1'281'167);
  if (result.val) print_split("val", *result.val, 50'000);
  return kExitSuccess;
}

}  // namespace

void add_prepare(CLI::App& data, Action& action) {
  CLI::App* verb = data.add_subcommand("prepare", "Turns archives, as they are handed out, into data sets");
  verb->require_subcommand(1);
  CLI::App* imagenet = verb->add_subcommand("imagenet", "ILSVRC2012: into a folder for each class, or packed files");
  auto words = std::make_shared<Words>();
  imagenet->add_option("--train", words->train, "ILSVRC2012_img_train.tar")->type_name("TAR");
  imagenet->add_option("--val", words->val, "ILSVRC2012_img_val.tar")->type_name("TAR");
  imagenet
      ->add_option("--truth", words->truth,
                   "The classes of --val: ILSVRC2012_devkit_t12.tar.gz, LOC_val_solution.csv, or one class a line")
      ->type_name("FILE");
  imagenet->add_option("--synsets", words->synsets, "For a truth of numbers: the classes in the order of their ids")
      ->type_name("FILE");
  imagenet->add_option("folder", words->folder, "Where train and val go")->type_name("OUT")->required();
  CLI::Option* pack =
      imagenet->add_flag("--pack", words->pack, "Into OUT/train.lsp and OUT/val.lsp; the flags of `pack` say how");
  for (CLI::Option* option : add_pack_options(*imagenet, words->packing)) option->needs(pack);
  imagenet->footer("lockstep data prepare imagenet --train TAR --val TAR --truth FILE OUT [--pack [--size 256]]");
  imagenet->callback([words, &action] { action = [words] { return run(*words); }; });
}

}  // namespace lockstep::app
