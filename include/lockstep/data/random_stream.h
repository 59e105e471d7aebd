#pragma once
#include <cstdint>
#include <limits>

namespace lockstep::data {

// Random numbers that depend on what they are for, and on nothing that ran before: the same on every rank, in every
// worker, whenever they are drawn. The generator is SplitMix64, whose state is a counter: to make one costs nothing.
class RandomStream {
 public:
  // What a stream is for stands beside the number of a sample, which is smaller.
  static constexpr std::uint64_t kOrder = ~std::uint64_t{0};

  RandomStream(std::uint64_t seed, std::uint64_t epoch, std::uint64_t what)
      : state_(mixed(mixed(mixed(seed + kStep) + epoch) + what)) {}

  // A stream of its own for one part of what this one is for, such as one transform of a sample's. It depends on the
  // number of the part and on how many numbers were drawn here before.
  RandomStream fork(std::uint64_t part) const { return RandomStream(mixed(mixed(state_ ^ kFork) + part)); }

  // From 0 up to but not including `limit`, each alike.
  std::uint64_t below(std::uint64_t limit) {
    // The largest numbers would favour the smallest remainders; they are drawn again.
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t bound = most - most % limit;
    std::uint64_t number = bits();
    while (number >= bound) number = bits();
    return number % limit;
  }

  // From 0 up to but not including 1.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  bool chance(double probability) { return uniform() < probability; }

  // As a generator of the standard library, for its distributions.
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return bits(); }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  static constexpr std::uint64_t kFork = 0xd1b54a32d192ed03ULL;

  explicit RandomStream(std::uint64_t state) : state_(state) {}

  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }

  std::uint64_t bits() { return mixed(state_ += kStep); }

  std::uint64_t state_;
};

}  // namespace lockstep::data
