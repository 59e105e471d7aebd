#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/manifest.h>

#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using test::ThrowsWith;

Manifest small() {
  return {.step = 1200,
          .epoch = 3,
          .ranks = 2,
          .integers = {{"position", std::numeric_limits<std::int64_t>::min()}, {"seed", 7}},
          .numbers = {{"loss", 0.1}, {"minus zero", -0.0}, {"whole", 3}, {"tiny", 5e-324}, {"huge", 1e300}},
          .texts = {{"config", "model: mnist\n\"ü\"\n"}},
          .files = {{.name = "model.safetensors",
                     .header_bytes = 64,
                     .header_checksum = 0xfffffffe,
                     .tensors = {{"conv.weight", 36, 10}, {"conv.bias", 4, 0}}},
                    {.name = "training.safetensors", .header_bytes = 16, .header_checksum = 5, .tensors = {}}}};
}

// The text of another content, with the checksum that it would have.
std::string with_checksum(std::string body) {
  return body + fmt::format(",\n \"crc32c\": \"{:08x}\"\n}}\n", crc32c(std::as_bytes(std::span(body))));
}

std::string body_of(const Manifest& manifest) {
  const std::string text = to_json(manifest);
  return text.substr(0, text.rfind(",\n"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

auto parsing(const std::string& content) {
  return [content] { return parse_manifest(content, "checkpoint.json"); };
}

TEST(Manifest, ComesBackAsItWas) {
  EXPECT_EQ(parse_manifest(to_json(small()), "file"), small());
  EXPECT_EQ(parse_manifest(to_json({}), "file"), Manifest{});
  EXPECT_TRUE(std::signbit(parse_manifest(to_json(small()), "file").numbers.at("minus zero")));
}

TEST(Manifest, NumbersNeedNotBeFinite) {
  Manifest manifest = small();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  manifest.numbers = {{"inf", kInfinity}, {"-inf", -kInfinity}, {"nan", std::nan("")}};
  const Manifest read = parse_manifest(to_json(manifest), "file");
  EXPECT_EQ(read.numbers.at("inf"), kInfinity);
  EXPECT_EQ(read.numbers.at("-inf"), -kInfinity);
  EXPECT_TRUE(std::isnan(read.numbers.at("nan")));
}

TEST(Manifest, EveryFlippedBitIsFound) {
  const std::string good = to_json(small());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_THAT(parsing(bad), ThrowsWith<UsageError>("'checkpoint.json' is damaged")) << "bit " << bit;
  }
}

TEST(Manifest, EveryTruncationIsFound) {
  const std::string good = to_json(small());
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_THAT(parsing(good.substr(0, size)), ThrowsWith<UsageError>("'checkpoint.json' is damaged")) << size;
  }
}

TEST(Manifest, ANewerVersionIsNotDamage) {
  const std::string newer = replaced(body_of(small()), "\"version\": 1", "\"version\": 2,\n \"more\": [{}]");
  EXPECT_THAT(parsing(with_checksum(newer)), ThrowsWith<UsageError>("written by a newer version of Lockstep"));
}

TEST(Manifest, WhatAForgerWritesIsRefused) {
  const auto forging = [](const std::string& from, const std::string& to) {
    return parsing(with_checksum(replaced(body_of(small()), from, to)));
  };
  EXPECT_THAT(forging("\"model.safetensors\"", "\"../model.safetensors\""), ThrowsWith<UsageError>("is no name"));
  EXPECT_THAT(forging("\"model.safetensors\"", "\"training.safetensors\""), ThrowsWith<UsageError>("comes twice"));
  EXPECT_THAT(forging("conv.bias", "conv.weight"), ThrowsWith<UsageError>("'conv.weight' of model.safetensors comes"));
  EXPECT_THAT(forging("\"bytes\": 36", "\"bytes\": 18446744073709551615"), ThrowsWith<UsageError>("cannot have"));
  EXPECT_THAT(forging("\"bytes\": 36", "\"bytes\": -36"), ThrowsWith<UsageError>("cannot have"));
  EXPECT_THAT(forging("\"bytes\": 36", "\"bytes\": 36.5"), ThrowsWith<UsageError>("not as Lockstep writes it"));
  EXPECT_THAT(forging("\"bytes\": 36", "\"bytes\": \"36\""), ThrowsWith<UsageError>("damaged"));
  EXPECT_THAT(forging("\"step\": 1200", "\"step\": -1"), ThrowsWith<UsageError>("step -1 is negative"));
  EXPECT_THAT(forging("\"step\": 1200", "\"step\": 1200, \"step\": 1200"), ThrowsWith<UsageError>("not as Lockstep"));
  EXPECT_THAT(forging("\"step\": 1200", "\"more\": " + std::string(100'000, '[')), ThrowsWith<UsageError>("levels"));
  EXPECT_THAT(forging("lockstep checkpoint", "lockstep config"), ThrowsWith<UsageError>("another format"));
  EXPECT_THAT(parsing(with_checksum("")), ThrowsWith<UsageError>("damaged"));
  EXPECT_THAT(parsing(with_checksum("[1")), ThrowsWith<UsageError>("damaged"));
}

TEST(Manifest, ShardsAreAllThereOrNone) {
  EXPECT_EQ(training_shard(0, 4), "training-00001-of-00004.safetensors");
  EXPECT_THROW(training_shard(4, 4), UsageError);
  Manifest manifest;
  for (const int rank : {0, 1, 3}) manifest.files.push_back({.name = training_shard(rank, 4), .header_bytes = 16});
  EXPECT_THAT([&] { to_json(manifest); }, ThrowsWith<UsageError>("training-00003-of-00004.safetensors is not among"));
  manifest.files.push_back({.name = training_shard(2, 4), .header_bytes = 16});
  EXPECT_EQ(parse_manifest(to_json(manifest), "file"), manifest);
}

TEST(Manifest, TextsMustBeText) {
  EXPECT_THAT([] { to_json({.texts = {{"config", "\xff"}}}); }, ThrowsWith<UsageError>("must be UTF-8"));
}

}  // namespace
}  // namespace lockstep::checkpoint
