// lockstep checkpoint export and import: weights out of checkpoints, and into them.
#include <csignal>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/weights.h>
#include <lockstep/checkpoint/writer.h>

#include "checkpoint.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string from, to;
  checkpoint::WeightsOptions options;
  bool force = false;
};

std::vector<data::TensorBytes> bytes_of(const checkpoint::Weights& weights) {
  std::vector<data::TensorBytes> tensors;
  for (const data::TensorFile& file : weights.tensors) tensors.push_back(file.tensor);
  return tensors;
}

void say(const checkpoint::Weights& weights, const std::string& target) {
  for (const std::string& note : weights.notes) fmt::print("{}\n", escape_controls(note));
  std::uint64_t bytes = 0;
  for (const data::TensorFile& file : weights.tensors) bytes += file.tensor.bytes.size();
  fmt::print("wrote {}: {}, {}\n", escape_controls(target), format_plural(std::ssize(weights.tensors), "tensor"),
             format_bytes(bytes));
}

int to_file(const Words& words) {
  checkpoint::check_weights_target(words.to, words.force);
  const checkpoint::Weights weights = checkpoint::open_weights(words.from, words.options);
  checkpoint::write_weights(words.to, bytes_of(weights), words.force);
  say(weights, words.to);
  return kExitSuccess;
}

// A checkpoint of step 0, as if the weights were those that training begins with.
int to_checkpoint(const Words& words) {
  const auto target = std::filesystem::path(words.to) / "0";
  std::error_code unknown;  // then writing to it says why
  if (std::filesystem::exists(target, unknown) && !words.force) {
    throw UsageError({.message = fmt::format("'{}' exists", target.string()),
                      .next = "take another folder, or replace it with --force"});
  }
  const checkpoint::Weights weights = checkpoint::open_weights(words.from, words.options);
  checkpoint::Writer writer(words.to, 0);
  writer.write(checkpoint::kModelFile, bytes_of(weights), {{"format", "pt"}});
  const auto folder = writer.commit({.texts = {{"imported_from", escape_controls(words.from)}}});
  say(weights, folder.string());
  return kExitSuccess;
}

int import(const Words& words) {
  const std::filesystem::path target = words.to;
  std::error_code unknown;
  // A name with an ending is meant to be a file, a wrong one too.
  return target.has_extension() && !std::filesystem::is_directory(target, unknown) ? to_file(words)
                                                                                   : to_checkpoint(words);
}

void finish_verb(CLI::App& verb, const std::shared_ptr<Words>& words, Action& action, int (*run)(const Words&)) {
  verb.add_flag("--force", words->force, "Replace what is there");
  verb.callback([words, &action, run] {
    action = [words, run] {
      // A limit on the size of files is to be an error in words, as a full disk is.
      std::signal(SIGXFSZ, SIG_IGN);
      return run(*words);
    };
  });
}

}  // namespace

void add_checkpoint_export(CLI::App& checkpoint, Action& action) {
  CLI::App* verb = checkpoint.add_subcommand("export", "Writes a checkpoint's weights to a file for others");
  auto words = std::make_shared<Words>();
  verb->add_option("from", words->from, "A checkpoint, or a file of weights")->type_name("CHECKPOINT")->required();
  verb->add_option("to", words->to, "FILE.safetensors, or FILE.pt for PyTorch")->type_name("FILE")->required();
  verb->add_flag("--average", words->options.average, "The averaged weights (EMA) instead of the model's own");
  finish_verb(*verb, words, action, to_file);
}

void add_checkpoint_import(CLI::App& checkpoint, Action& action) {
  CLI::App* verb = checkpoint.add_subcommand("import", "Brings weights from a file into a checkpoint of step 0");
  auto words = std::make_shared<Words>();
  verb->add_option("from", words->from, "A .pt, .pth or .safetensors file")->type_name("FILE")->required();
  verb->add_option("to", words->to, "A folder of checkpoints, or FILE.safetensors")->type_name("TARGET")->required();
  verb->add_option("--key", words->options.key, "Where a PyTorch file has its state dict, if not in a usual place");
  finish_verb(*verb, words, action, import);
}

}  // namespace lockstep::app
