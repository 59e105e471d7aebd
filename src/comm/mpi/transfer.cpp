#include "transfer.h"

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "bytes_type.h"
#include "check.h"
#include "runtime.h"

namespace lockstep::comm::mpi {
namespace {

// Looks at a receive that was taken back, which MPI completes soon unless its message has begun to arrive.
constexpr int kLooks = 1000;

void require_tag(MPI_Comm communicator, int tag) {
  int* largest = nullptr;
  int found = 0;
  LOCKSTEP_CHECK_MPI(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&largest), &found));
  if (tag >= 0 && (found == 0 || tag <= *largest)) return;
  throw UsageError({.message = "this MPI does not take such a tag",
                    .found = std::to_string(tag),
                    .expected = fmt::format("0 to {}", found != 0 ? *largest : 32767)});
}

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(bool receives, std::size_t bytes, int peer) : receives_(receives), bytes_(bytes), peer_(peer) {}
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  ~MpiTransfer() override {
    if (request_ == MPI_REQUEST_NULL) return;
    try {
      if (receives_ && taken_back()) return;
    } catch (const Error&) {
      // MPI has been given up already, or is now.
    }
    Runtime::get().give_up("a message was given up while it was under way");
  }

  bool poll() override {
    if (complete_) return true;
    MPI_Status status;
    int complete = 0;
    Runtime::get().call([&] { LOCKSTEP_CHECK_MPI(MPI_Test(&request_, &complete, &status)); });
    if (complete == 0) return false;
    if (receives_) accept(status);
    complete_ = true;
    return true;
  }

  int peer() const override { return peer_; }

  MPI_Request& request() { return request_; }

 private:
  void accept(const MPI_Status& status) {
    MPI_Count bytes = 0;
    Runtime::get().call([&] { LOCKSTEP_CHECK_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &bytes)); });
    if (static_cast<std::size_t>(bytes) != bytes_) {
      throw RuntimeError({.message = fmt::format("rank {} sent a message of another size", status.MPI_SOURCE),
                          .found = fmt::format("{} bytes", bytes),
                          .expected = fmt::format("{} bytes", bytes_)});
    }
    peer_ = status.MPI_SOURCE;
  }

  bool taken_back() {
    int complete = 0;
    Runtime::get().call([&] {
      LOCKSTEP_CHECK_MPI(MPI_Cancel(&request_));
      for (int i = 0; i < kLooks && complete == 0; ++i) {
        LOCKSTEP_CHECK_MPI(MPI_Test(&request_, &complete, MPI_STATUS_IGNORE));
      }
    });
    return complete != 0;
  }

  bool receives_;
  std::size_t bytes_;
  int peer_;
  bool complete_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Transfer> start_send(MPI_Comm communicator, ConstBlock block, int destination, int tag) {
  auto transfer = std::make_unique<MpiTransfer>(false, block.bytes, destination);
  Runtime::get().call([&] {
    require_tag(communicator, tag);
    const BytesType bytes(block.bytes);
    LOCKSTEP_CHECK_MPI(
        MPI_Isend(block.data, bytes.count(), bytes.type(), destination, tag, communicator, &transfer->request()));
  });
  return transfer;
}

std::unique_ptr<Transfer> start_receive(MPI_Comm communicator, Block block, int source, int tag) {
  auto transfer = std::make_unique<MpiTransfer>(true, block.bytes, source);
  Runtime::get().call([&] {
    require_tag(communicator, tag);
    const BytesType bytes(block.bytes);
    LOCKSTEP_CHECK_MPI(MPI_Irecv(block.data, bytes.count(), bytes.type(), source == kAnyRank ? MPI_ANY_SOURCE : source,
                                 tag, communicator, &transfer->request()));
  });
  return transfer;
}

}  // namespace lockstep::comm::mpi
