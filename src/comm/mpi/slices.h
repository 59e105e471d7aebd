#pragma once
#include <algorithm>
#include <cstddef>

#include "../engine.h"

namespace lockstep::comm::mpi {

// A block for each rank, laid end to end, each cut into pieces. Every rank's number of pieces is the same; those past
// the end are empty.
class Slices {
 public:
  Slices(Block all, std::size_t block_bytes, std::size_t piece_bytes)
      : all_(all), block_bytes_(block_bytes), piece_bytes_(piece_bytes) {}

  std::size_t count() const { return (block_bytes_ + piece_bytes_ - 1) / piece_bytes_; }

  // Of the block of `rank`.
  Block piece(int rank, std::size_t number) const {
    const std::size_t block = static_cast<std::size_t>(rank) * block_bytes_;
    const std::size_t end_of_block = std::min(block + block_bytes_, all_.bytes);
    const std::size_t begin = std::min(block + number * piece_bytes_, end_of_block);
    return {all_.data + begin, std::min(piece_bytes_, end_of_block - begin)};
  }

 private:
  Block all_;
  std::size_t block_bytes_;
  std::size_t piece_bytes_;
};

}  // namespace lockstep::comm::mpi
