// lockstep checkpoint inspect: what a checkpoint, a run's checkpoints, or a file of weights holds.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/survey.h>
#include <lockstep/checkpoint/weights.h>

#include "checkpoint.h"

namespace lockstep::app {
namespace {

using checkpoint::Manifest;
using checkpoint::Surveyed;
using checkpoint::WeightsKind;
using Json = nlohmann::ordered_json;

struct Words {
  std::string path, key;
  bool json = false, tensors = false;
};

std::uint64_t bytes_of(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const auto& file : manifest.files) bytes += file.bytes();
  return bytes;
}

Table table_of_tensors(std::span<const data::TensorBytes> tensors) {
  Table table({{.key = "name"}, {.key = "type"}, {.key = "shape"}, {.key = "bytes"}, {.key = "crc32c"}});
  for (const data::TensorBytes& tensor : tensors) {
    table.add_row({tensor.name, std::string(element_name(tensor.type)),
                   fmt::format("[{}]", fmt::join(tensor.shape, ", ")), std::ssize(tensor.bytes),
                   fmt::format("{:08x}", crc32c(tensor.bytes))});
  }
  return table;
}

Json json_of(const Table& table) {
  return Json::parse(table.to_json());
}

Json json_of(const Surveyed& one, bool with_tensors) {
  Json json = {{"path", one.folder.string()}, {"good", one.problem.empty()}, {"problem", one.problem}};
  if (!one.manifest) return json;
  const Manifest& manifest = *one.manifest;
  json.update({{"step", manifest.step},
               {"epoch", manifest.epoch},
               {"ranks", manifest.ranks},
               {"bytes", bytes_of(manifest)},
               {"integers", manifest.integers},
               {"numbers", manifest.numbers},
               {"texts", manifest.texts},
               {"files", Json::array()}});
  for (const auto& file : manifest.files) {
    Json entry = {{"name", file.name}, {"bytes", file.bytes()}, {"tensor_count", file.tensors.size()}};
    if (with_tensors && one.problem.empty()) {
      entry["tensors"] = json_of(table_of_tensors(data::SafetensorsFile(one.folder / file.name).tensors()));
    }
    json["files"].push_back(std::move(entry));
  }
  return json;
}

void print(const Json& json) {
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

std::string state_of(const Surveyed& one) {
  return one.problem.empty() ? "good" : "damaged";
}

// Metrics and short texts as they are; of a long text, such as a config, its size.
std::string short_text(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  if (text.size() <= kLongest && text.find('\n') == std::string::npos) return text;
  return fmt::format("{} lines; --json shows them", std::count(text.begin(), text.end(), '\n'));
}

void print_one(const Surveyed& one, bool with_tensors) {
  fmt::print("{}: {}\n", escape_controls(one.folder.string()), state_of(one));
  if (!one.problem.empty()) fmt::print("{}\n", escape_controls(one.problem, /*keep_newlines=*/true));
  if (!one.manifest) return;
  const Manifest& manifest = *one.manifest;
  fmt::print("step {}, epoch {}, {}, {}\n\n", format_count(manifest.step), manifest.epoch,
             format_plural(manifest.ranks, "rank"), format_bytes(bytes_of(manifest)));
  Table values({{.key = "name"}, {.key = "value"}});
  for (const auto& [name, value] : manifest.numbers) values.add_row({name, fmt::format("{:.6g}", value)});
  for (const auto& [name, value] : manifest.integers) values.add_row({name, std::to_string(value)});
  for (const auto& [name, value] : manifest.texts) values.add_row({name, short_text(value)});
  if (values.row_count() > 0) std::cout << values.to_text() << "\n";
  Table files({{.key = "file"}, {.key = "tensors"}, {.key = "size"}});
  for (const auto& file : manifest.files) {
    files.add_row({file.name, std::ssize(file.tensors), format_bytes(file.bytes())});
  }
  std::cout << files.to_text();
  if (!with_tensors || !one.problem.empty()) return;
  for (const auto& file : manifest.files) {
    const data::SafetensorsFile content(one.folder / file.name);
    std::cout << "\n" << file.name << "\n" << table_of_tensors(content.tensors()).to_text();
  }
}

void print_all(std::span<const Surveyed> all) {
  Table table(
      {{.key = "step"}, {.key = "epoch"}, {.key = "ranks"}, {.key = "size"}, {.key = "state"}, {.key = "metrics"}});
  for (const Surveyed& one : all) {
    if (!one.manifest) {
      table.add_row({one.folder.filename().string(), {}, {}, {}, state_of(one), {}});
      continue;
    }
    std::vector<std::string> metrics;
    for (const auto& [name, value] : one.manifest->numbers) {
      // Other numbers, such as a schedule's, are for those who go on from here.
      if (name.starts_with("train.") || name.starts_with("test.")) {
        metrics.push_back(fmt::format("{} {:.6g}", name, value));
      }
    }
    table.add_row({std::to_string(one.manifest->step), one.manifest->epoch, one.manifest->ranks,
                   format_bytes(bytes_of(*one.manifest)), state_of(one), fmt::format("{}", fmt::join(metrics, ", "))});
  }
  std::cout << table.to_text();
  for (const Surveyed& one : all) {
    if (!one.problem.empty()) fmt::print("\n{}\n", escape_controls(one.problem, /*keep_newlines=*/true));
  }
}

int inspect_folder(const Words& words) {
  if (!words.key.empty()) throw UsageError("only PyTorch files have keys");
  const std::vector<Surveyed> all = checkpoint::survey(words.path);
  const bool is_one = all.size() == 1 && all.front().folder == std::filesystem::path(words.path);
  if (words.json && is_one) {
    Json json = {{"kind", "checkpoint"}};
    json.update(json_of(all.front(), words.tensors));
    print(json);
  } else if (words.json) {
    Json json = {{"kind", "checkpoints"}, {"path", words.path}, {"checkpoints", Json::array()}};
    for (const Surveyed& one : all) json["checkpoints"].push_back(json_of(one, words.tensors));
    print(json);
  } else if (is_one) {
    print_one(all.front(), words.tensors);
  } else {
    print_all(all);
  }
  return kExitSuccess;
}

int inspect_file(const Words& words) {
  const WeightsKind kind = checkpoint::kind_of_weights(words.path);
  const checkpoint::Weights weights = checkpoint::open_weights(words.path, {.key = words.key});
  std::vector<data::TensorBytes> tensors;
  std::uint64_t bytes = 0;
  for (const data::TensorFile& file : weights.tensors) {
    tensors.push_back(file.tensor);
    bytes += file.tensor.bytes.size();
  }
  if (words.json) {
    Json json = {{"kind", kind == WeightsKind::kTorch ? "pytorch" : "safetensors"},
                 {"path", words.path},
                 {"bytes", bytes},
                 {"tensor_count", tensors.size()},
                 {"notes", weights.notes}};
    if (words.tensors) json["tensors"] = json_of(table_of_tensors(tensors));
    print(json);
    return kExitSuccess;
  }
  fmt::print("{}: {} file, {}, {}\n", escape_controls(words.path),
             kind == WeightsKind::kTorch ? "PyTorch" : "safetensors", format_plural(std::ssize(tensors), "tensor"),
             format_bytes(bytes));
  for (const std::string& note : weights.notes) fmt::print("{}\n", escape_controls(note));
  if (words.tensors) std::cout << "\n" << table_of_tensors(tensors).to_text();
  return kExitSuccess;
}

}  // namespace

void add_checkpoint_inspect(CLI::App& checkpoint, Action& action) {
  CLI::App* verb = checkpoint.add_subcommand("inspect", "Says what a checkpoint, a run or a file of weights holds");
  auto words = std::make_shared<Words>();
  verb->add_option("path", words->path, "A checkpoint, a folder of them, a run, or a .safetensors, .pt or .pth file")
      ->type_name("PATH")
      ->required();
  verb->add_flag("--tensors", words->tensors, "Each tensor too: name, type, shape, bytes, CRC-32C");
  verb->add_option("--key", words->key, "Where a PyTorch file has its state dict, if not in a usual place");
  verb->add_flag("--json", words->json, "One JSON value on stdout");
  verb->callback([words, &action] {
    action = [words] {
      std::error_code unknown;  // then opening it says why
      const bool is_folder = std::filesystem::is_directory(words->path, unknown);
      return is_folder ? inspect_folder(*words) : inspect_file(*words);
    };
  });
}

}  // namespace lockstep::app
