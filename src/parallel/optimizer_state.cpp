#include "optimizer_state.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <torch/serialize/archive.h>

#include <lockstep/base/errors.h>

#include "../comm/guard.h"

namespace lockstep::parallel {
namespace {

template <typename Write>
void write_state(const torch::optim::Optimizer& optimizer, const Write& write) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  archive.save_to(write);
}

}  // namespace

std::string save_state(const torch::optim::Optimizer& optimizer) {
  std::string bytes;
  write_state(optimizer, [&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

std::int64_t state_bytes(const torch::optim::Optimizer& optimizer) {
  std::int64_t total = 0;
  write_state(optimizer, [&](const void*, std::size_t size) {
    total += static_cast<std::int64_t>(size);
    return size;
  });
  return total;
}

void send_state(const Group& group, const torch::optim::Optimizer& optimizer, int destination) {
  std::string bytes = save_state(optimizer);
  const auto length = static_cast<std::int64_t>(bytes.size());
  group.send(at::full({1}, length, at::kLong), destination);
  group.send(at::from_blob(bytes.data(), {length}, at::kByte), destination);
}

void receive_state(const Group& group, torch::optim::Optimizer& optimizer, int source) {
  const at::Tensor length = at::empty({1}, at::kLong);
  group.receive(length, source);
  std::string bytes(static_cast<std::size_t>(length.item<std::int64_t>()), '\0');
  group.receive(at::from_blob(bytes.data(), {length.item<std::int64_t>()}, at::kByte), source);
  load_state(optimizer, bytes);
}

void load_state(torch::optim::Optimizer& optimizer, const std::string& bytes) {
  optimizer.state().clear();
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(bytes.data(), bytes.size());
    optimizer.load(archive);
  } catch (const c10::Error& error) {
    throw UsageError({.message = "the state of another optimizer cannot be loaded into this one",
                      .found = comm::first_line(error.what_without_backtrace()),
                      .expected = "the same kind of optimizer, with the same groups of parameters"});
  }
}

}  // namespace lockstep::parallel
