#pragma once
#include <cstddef>

#include <mpi.h>

namespace lockstep::comm::mpi {

// The largest number of bytes that is sent under MPI's own type for a byte: counts of MPI are ints.
inline constexpr std::size_t kLargestPlain = std::size_t{1} << 30;

// A number of bytes as MPI wants to hear of it: `count` elements of `type`. What is too large for an int becomes one
// element of a type of its own, so that any block is one message.
class BytesType {
 public:
  // `largest_plain` is for tests, at most kLargestPlain.
  explicit BytesType(std::size_t bytes, std::size_t largest_plain = kLargestPlain);
  BytesType(const BytesType&) = delete;
  BytesType& operator=(const BytesType&) = delete;
  // MPI keeps what messages under way need of it.
  ~BytesType();

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_ = MPI_BYTE;
};

}  // namespace lockstep::comm::mpi
