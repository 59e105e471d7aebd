// Folders and files as lockstep train and lockstep bench leave them, with numbers that are easy to find again.
#pragma once
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "temporary_folder.h"

namespace lockstep::test {

// Three epochs of ten steps. The test accuracy of epoch e is `best` - (3 - e) / 8.
inline std::filesystem::path make_sample_run(const TemporaryFolder& folder, const std::string& name, double best,
                                             double rate = 0.1) {
  std::filesystem::create_directories(folder.path() / name);
  std::string lines;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const double gap = (3 - epoch) / 8.0;
    for (int step = 10 * epoch - 9; step <= 10 * epoch; ++step) {
      lines += fmt::format(
          R"({{"step":{},"epoch":{},"split":"train","span":"steps","loss":{},"top1":{},"top5":1,"samples":64,)"
          R"("samples_per_second":640,"ranks":2,"time":{},"lr":{},"data_wait":0.125,"compute":0.75,"communication":0.125}})"
          "\n",
          step, epoch, 2.0 / step, best - gap, 1e9 + step, rate);
    }
    for (const char* split : {"train", "test"}) {
      lines += fmt::format(
          R"({{"step":{},"epoch":{},"split":"{}","span":"epoch","loss":{},"top1":{},"top5":1,"samples":640,)"
          R"("samples_per_second":640,"ranks":2,"time":{},"data_wait":0.125,"compute":0.75,"communication":0.125}})"
          "\n",
          10 * epoch, epoch, split, 1.0 / epoch, best - gap, 1e9 + 10 * epoch);
    }
  }
  folder.write(name + "/metrics.jsonl", lines);
  folder.write(name + "/config.yaml", fmt::format("model: {{name: lenet}}\noptimizer: {{lr: {}}}\n", rate));
  return folder.path() / name;
}

inline std::filesystem::path make_sample_scaling(const TemporaryFolder& folder) {
  return folder.write("scaling.json",
                      R"({"kind":"scaling","model":"lenet","device":"cpu","mode":"ddp","scaling":"weak","batch":32,)"
                      R"("rows":[{"ranks":1,"samples_per_second":100,"milliseconds":320,"efficiency":1,)"
                      R"("split":{"data":0.25,"compute":0.75,"communication":0}},)"
                      R"({"ranks":2,"samples_per_second":187.5,"milliseconds":341,"efficiency":0.9375,)"
                      R"("split":{"data":0.25,"compute":0.5,"communication":0.25}}]})");
}

}  // namespace lockstep::test
