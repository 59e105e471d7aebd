// Looks at every picture of a data set.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::data {

struct VerifyOptions {
  bool decode = false;  // the pictures of a packed file too, not their checksums alone
  int workers = 0;      // threads; 0: one for each CPU
};

struct BadPicture {
  std::int64_t index = 0;  // in its part of the set
  std::string name, reason;
};

struct VerifyResult {
  enum class Kind { kPacked, kFolder };

  Kind kind = Kind::kPacked;
  std::int64_t samples = 0;
  std::int64_t classes = 0;
  std::uint64_t bytes = 0;      // of the pictures that are good
  std::string damage;           // what is wrong with a file as a whole; empty when nothing is
  std::int64_t bad_count = 0;   // all of them
  std::vector<BadPicture> bad;  // the first of them, at most kMostNamed

  static constexpr std::size_t kMostNamed = 1000;

  bool good() const { return damage.empty() && bad_count == 0; }
};

using VerifyProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Of a packed file every checksum, of a folder every picture by decoding it, of CIFAR and MNIST those of both parts.
// What is bad is in the result. Throws UsageError when there is nothing to look at: no file or folder, one that is no
// data set, or a folder that is not to be listed (a class without pictures, a link that leads out of it).
VerifyResult verify(const std::filesystem::path& path, const VerifyOptions& options = {},
                    const VerifyProgress& progress = {});

}  // namespace lockstep::data
