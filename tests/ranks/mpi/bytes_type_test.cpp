// Blocks that are too large for a count of MPI, with a small number taken for the largest.
#include <mpi.h>

#include <numeric>
#include <vector>

#include <gmock/gmock.h>

#include "comm/mpi/bytes_type.h"

namespace lockstep::comm::mpi {
namespace {

TEST(BytesType, OfAnyCut_CarriesEveryByte) {
  for (std::size_t bytes = 0; bytes < 60; ++bytes) {
    const BytesType type(bytes, 7);
    std::vector<unsigned char> sent(bytes + 1), received(bytes + 1, 255);
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(1));
    MPI_Sendrecv(sent.data(), type.count(), type.type(), 0, 0, received.data(), type.count(), type.type(), 0, 0,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    sent.back() = 255;  // one past the end stays as it was
    EXPECT_EQ(received, sent);
  }
}

TEST(BytesType, OfManyGigabytes_HasThatSize) {
  for (const std::size_t bytes : {kLargestPlain, kLargestPlain + 1, 5 * kLargestPlain, 9 * kLargestPlain + 12345}) {
    const BytesType type(bytes);
    MPI_Count size = 0;
    MPI_Type_size_x(type.type(), &size);
    EXPECT_EQ(static_cast<std::size_t>(size) * static_cast<std::size_t>(type.count()), bytes);
  }
}

}  // namespace
}  // namespace lockstep::comm::mpi

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
