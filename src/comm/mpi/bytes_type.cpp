#include "bytes_type.h"

#include <array>

#include "check.h"

namespace lockstep::comm::mpi {

BytesType::BytesType(std::size_t bytes, std::size_t largest_plain) : count_(static_cast<int>(bytes)) {
  if (bytes <= largest_plain) return;
  const auto part = static_cast<int>(largest_plain);
  MPI_Datatype parts = MPI_DATATYPE_NULL;
  LOCKSTEP_CHECK_MPI(MPI_Type_vector(static_cast<int>(bytes / largest_plain), part, part, MPI_BYTE, &parts));
  const std::array<int, 2> lengths = {1, static_cast<int>(bytes % largest_plain)};
  const std::array<MPI_Aint, 2> places = {0, static_cast<MPI_Aint>(bytes / largest_plain * largest_plain)};
  const std::array<MPI_Datatype, 2> types = {parts, MPI_BYTE};
  LOCKSTEP_CHECK_MPI(MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type_));
  LOCKSTEP_CHECK_MPI(MPI_Type_free(&parts));
  LOCKSTEP_CHECK_MPI(MPI_Type_commit(&type_));
  count_ = 1;
}

BytesType::~BytesType() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

}  // namespace lockstep::comm::mpi
