#include "reduce.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../local/reduction.h"

namespace lockstep::comm::ccl {
namespace {

// Longer tensors are reduced piece by piece, so that the memory for the other ranks' elements stays small.
constexpr std::int64_t kPieceBytes = std::int64_t{32} << 20;

std::optional<::ccl::datatype> datatype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return ::ccl::datatype::float32;
    case c10::ScalarType::Double:
      return ::ccl::datatype::float64;
    case c10::ScalarType::Char:
      return ::ccl::datatype::int8;
    case c10::ScalarType::Short:
      return ::ccl::datatype::int16;
    case c10::ScalarType::Int:
      return ::ccl::datatype::int32;
    case c10::ScalarType::Long:
      return ::ccl::datatype::int64;
    case c10::ScalarType::Byte:
      return ::ccl::datatype::uint8;
    default:
      return std::nullopt;
  }
}

std::optional<::ccl::reduction> reduction_of(Reduce op) {
  switch (op) {
    case Reduce::kSum:
      return ::ccl::reduction::sum;
    case Reduce::kProduct:
      return ::ccl::reduction::prod;
    case Reduce::kMin:
      return ::ccl::reduction::min;
    case Reduce::kMax:
      return ::ccl::reduction::max;
    default:
      return std::nullopt;
  }
}

// Room for one block of each rank, and the kernel that makes one of them.
class Gathering {
 public:
  Gathering(int ranks, std::size_t block_bytes)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(ranks) * block_bytes)) {
    for (int rank = 0; rank < ranks; ++rank) {
      blocks.push_back({memory_.get() + static_cast<std::size_t>(rank) * block_bytes, block_bytes});
    }
  }

  void reduce(const local::Reduction& reduction, std::byte* out) const {
    if (blocks.front().bytes == 0) return;
    std::vector<const std::byte*> sources;
    for (const Block& block : blocks) sources.push_back(block.data);
    reduction.kernel(out, sources.data(), static_cast<int>(sources.size()),
                     blocks.front().bytes / reduction.element_bytes);
  }

  std::vector<Block> blocks;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

std::optional<NativeReduction> native_reduction(c10::ScalarType type, Reduce op) {
  const auto datatype = datatype_of(type);
  const auto operation = reduction_of(op);
  if (!datatype || !operation) return std::nullopt;
  const bool comparison = op == Reduce::kMin || op == Reduce::kMax;
  if (comparison && c10::isFloatingType(type)) return std::nullopt;
  return NativeReduction{*datatype, *operation};
}

void ReductionByHand::all_reduce(Elements elements, Reduce op, const Patience& patience) {
  const local::Reduction reduction = local::find_reduction(elements.type, op);
  const auto element_bytes = static_cast<std::int64_t>(reduction.element_bytes);
  auto* const data = static_cast<std::byte*>(elements.data);
  for (std::int64_t done = 0; done < elements.count;) {
    const std::int64_t count = std::min(elements.count - done, kPieceBytes / element_bytes);
    // Each rank reduces its own part of the piece, for all.
    std::vector<Block> parts;
    std::vector<ConstBlock> sent;
    for (int rank = 0; rank < size_; ++rank) {
      const std::int64_t first = count * rank / size_, last = count * (rank + 1) / size_;
      parts.push_back(
          {data + (done + first) * element_bytes, static_cast<std::size_t>((last - first) * element_bytes)});
      sent.push_back({parts.back().data, parts.back().bytes});
    }
    const Block mine = parts[static_cast<std::size_t>(rank_)];
    const Gathering gathering(size_, mine.bytes);
    mover_.exchange(sent, gathering.blocks, patience);
    gathering.reduce(reduction, mine.data);
    mover_.all_gather({mine.data, mine.bytes}, parts, patience);
    done += count;
  }
}

void ReductionByHand::reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) {
  const local::Reduction reduction = local::find_reduction(input.type, op);
  const auto element_bytes = static_cast<std::int64_t>(reduction.element_bytes);
  for (std::int64_t done = 0; done < output.count;) {
    const std::int64_t count = std::min(output.count - done, kPieceBytes / element_bytes / size_ + 1);
    const auto bytes = static_cast<std::size_t>(count * element_bytes);
    std::vector<ConstBlock> sent;
    for (int rank = 0; rank < size_; ++rank) {
      sent.push_back({static_cast<std::byte*>(input.data) + (rank * output.count + done) * element_bytes, bytes});
    }
    const Gathering gathering(size_, bytes);
    mover_.exchange(sent, gathering.blocks, patience);
    gathering.reduce(reduction, static_cast<std::byte*>(output.data) + done * element_bytes);
    done += count;
  }
}

}  // namespace lockstep::comm::ccl
