#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/run_program.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/compare.h>

namespace lockstep::bench {
namespace {

struct Known {
  ComparedModel model;
  std::int64_t gpu_batch;
  bool classic;  // measured unless others are named
};

const std::vector<Known>& known_models() {
  static const std::vector<Known> models = {{{"resnet50-cifar", 32, "resnet50", "cifar", 100}, 256, true},
                                            {{"resnet18-cifar", 64, "resnet18", "cifar", 10}, 512, true},
                                            {{"alexnet", 32, "alexnet", "imagenet", 1000}, 512, true},
                                            {{"lstm", 64, "lstm", "imagenet", 100, /*has_layout=*/false}, 64, true},
                                            {{"conv3d", 8, "conv3d", "imagenet", 4}, 64, true},
                                            {{"mnist", 64, "mnist", "imagenet", 10}, 512, true},
                                            {{"resnet18", 32, "resnet18", "imagenet", 1000}, 256, false},
                                            {{"resnet50", 16, "resnet50", "imagenet", 1000}, 256, false},
                                            {{"vgg16_bn", 8, "vgg16_bn", "imagenet", 1000}, 128, false}};
  return models;
}

ComparedModel for_device(const Known& known, const std::string& device) {
  ComparedModel model = known.model;
  if (device == "cuda") model.batch = known.gpu_batch;
  return model;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Known& known : known_models()) all.push_back(known.model.name);
  return all;
}

ComparedModel parse_model(const std::string& word, const std::string& device) {
  const auto colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const auto found = std::find_if(known_models().begin(), known_models().end(),
                                  [&](const Known& known) { return known.model.name == name; });
  if (found == known_models().end()) {
    throw UsageError({.message = fmt::format("there is no model '{}' to compare{}", name, did_you_mean(name, names())),
                      .expected = fmt::format("one of {}", fmt::join(names(), ", "))});
  }
  ComparedModel model = for_device(*found, device);
  if (colon == std::string::npos) return model;
  constexpr std::int64_t kMostBatch = 1 << 20;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + colon + 1, end, model.batch);
  if (error != std::errc{} || stop != end || model.batch < 1 || model.batch > kMostBatch) {
    throw UsageError({.message = fmt::format("the batch of '{}' is not understood", name),
                      .found = word,
                      .expected = "MODEL:BATCH, such as mnist:64"});
  }
  return model;
}

// Its version; empty, with the reason in `why`, where it has none.
std::string torch_of(const std::string& python, std::string& why) {
  constexpr auto kPatience = std::chrono::minutes(2);  // the first import reads gigabytes
  const auto result =
      run_program({python, "-c", "import torch; print(torch.__version__)"}, {.input = {}, .time = kPatience});
  if (!result.complaint.empty()) {
    const std::string missing = result.errors.find("No module named") != std::string::npos ? "it has no torch" : "";
    why = fmt::format("{}: {}", python, missing.empty() ? result.complaint : missing);
    return "";
  }
  return result.output;
}

}  // namespace

std::vector<ComparedModel> classic_models(const std::string& device) {
  std::vector<ComparedModel> models;
  for (const Known& known : known_models()) {
    if (known.classic) models.push_back(for_device(known, device));
  }
  return models;
}

std::vector<ComparedModel> parse_compared_models(const std::string& text, const std::string& device) {
  std::vector<ComparedModel> models;
  for (const std::string& word : split(text, ',')) models.push_back(parse_model(word, device));
  return models;
}

const std::vector<std::string>& compared_variants(const std::string& device) {
  static const std::vector<std::string> cpu = {"eager", "channels-last", "compile", "channels-last+compile"};
  static const std::vector<std::string> cuda = {"eager", "graph", "reduce-overhead", "max-autotune"};
  return device == "cuda" ? cuda : cpu;
}

std::string find_python_with_torch(const std::string& wanted, std::string& why) {
  const char* variable = std::getenv("LOCKSTEP_PARITY_PYTHON");
  const std::string named = !wanted.empty() ? wanted : variable != nullptr ? variable : "";
  std::string python = named.empty() ? "python3" : named;
  if (!torch_of(python, why).empty()) return python;
  if (named.empty()) return "";
  throw UsageError({.message = "there is no PyTorch to compare with",
                    .found = why,
                    .next = "name a Python that has torch and torchvision, or leave it out for our figures alone"});
}

}  // namespace lockstep::bench
