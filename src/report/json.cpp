// All numbers that were read, for programs.
#include <nlohmann/json.hpp>

#include <lockstep/report/report.h>

namespace lockstep::report {
namespace {

using Json = nlohmann::ordered_json;

// What is not known, a NaN, is written as null by itself.
Json to_value(const Rate& rate) {
  return {{"median", rate.median}, {"least", rate.least}, {"greatest", rate.greatest}};
}

Json to_value(const Split& split) {
  return {{"data", split.data}, {"compute", split.compute}, {"communication", split.communication}};
}

Json to_value(const Fact& fact) {
  return {{"name", fact.name}, {"value", fact.value}};
}

Json to_value(const MetricsRow& row) {
  return {{"step", row.step},
          {"epoch", row.epoch},
          {"split", row.is_test ? "test" : "train"},
          {"span", row.is_epoch ? "epoch" : "steps"},
          {"loss", row.loss},
          {"top1", row.top1},
          {"top5", row.top5},
          {"lr", row.learning_rate},
          {"samples", row.samples},
          {"samples_per_second", row.samples_per_second},
          {"ranks", row.ranks},
          {"time", row.time},
          {"data_wait", row.data},
          {"compute", row.compute},
          {"communication", row.communication}};
}

Json to_value(const ScalingRow& row) {
  return {{"ranks", row.ranks},
          {"nodes", row.nodes},
          {"samples_per_second", to_value(row.rate)},
          {"milliseconds", row.milliseconds},
          {"efficiency", row.efficiency},
          {"split", to_value(row.split)}};
}

Json to_value(const ProjectionRow& row) {
  return {{"ranks", row.ranks},
          {"algorithm", row.algorithm},
          {"samples_per_second", row.samples_per_second},
          {"efficiency", row.efficiency}};
}

Json to_value(const StepRow& row) {
  return {{"mode", row.mode},
          {"samples_per_second", to_value(row.rate)},
          {"milliseconds", row.milliseconds},
          {"kept", row.kept},
          {"hidden", row.hidden},
          {"split", to_value(row.split)}};
}

Json to_value(const Rung& rung) {
  return {{"rung", rung.name},
          {"samples_per_second", to_value(rung.rate)},
          {"milliseconds", rung.milliseconds},
          {"speedup", rung.speedup},
          {"peak_memory", rung.peak_memory}};
}

Json to_value(const AllReduceRow& row) {
  return {{"bytes", row.bytes},
          {"microseconds", row.microseconds},
          {"algbw_gb_per_s", row.algorithm_bandwidth},
          {"busbw_gb_per_s", row.bus_bandwidth}};
}

template <typename Item>
Json list(const std::vector<Item>& items) {
  Json values = Json::array();
  for (const Item& item : items) values.push_back(to_value(item));
  return values;
}

Json to_value(const TrainingRun& run) {
  return {{"kind", "run"}, {"config", list(run.config)}, {"metrics", list(run.rows)}};
}

Json to_value(const Scaling& scaling) {
  return {{"kind", "scaling"},      {"model", scaling.model},    {"device", scaling.device},
          {"mode", scaling.mode},   {"scaling", scaling.kind},   {"precision", scaling.precision},
          {"batch", scaling.batch}, {"rows", list(scaling.rows)}};
}

Json to_value(const Projection& projection) {
  return {{"kind", "projection"},
          {"from", projection.from},
          {"network", projection.network},
          {"rows", list(projection.rows)},
          {"measured", list(projection.measured)}};
}

template <typename Bench>
Json heading(const char* kind, const Bench& bench) {
  return {{"kind", kind},           {"model", bench.model}, {"backend", bench.backend},
          {"device", bench.device}, {"batch", bench.batch}, {"ranks", bench.ranks}};
}

Json to_value(const Steps& steps) {
  Json value = heading("step", steps);
  value["modes"] = list(steps.rows);
  return value;
}

Json to_value(const Ladder& ladder) {
  Json value = heading("ladder", ladder);
  value["rungs"] = list(ladder.rungs);
  return value;
}

Json to_value(const Loader& loader) {
  return {{"kind", "loader"},
          {"path", loader.path},
          {"augmentation", loader.augmentation},
          {"ranks", loader.ranks},
          {"workers", loader.workers},
          {"batch", loader.batch},
          {"samples_per_second", to_value(loader.rate)},
          {"peak_memory", loader.peak_memory}};
}

Json to_value(const AllReduce& all_reduce) {
  return {{"kind", "allreduce"},
          {"backend", all_reduce.backend},
          {"ranks", all_reduce.ranks},
          {"rows", list(all_reduce.rows)}};
}

}  // namespace

std::string to_json(const Data& data) {
  Json inputs = Json::array();
  for (const Input& input : data.inputs) {
    Json value = {{"name", input.name}, {"path", input.path.string()}};
    value.update(std::visit([](const auto& content) { return to_value(content); }, input.content));
    value["machine"] = list(input.machine);
    inputs.push_back(std::move(value));
  }
  const Json all = {{"inputs", std::move(inputs)}, {"notes", data.notes}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::report
