#include "requests.h"

#include <algorithm>

#include "backoff.h"
#include "bytes_type.h"
#include "check.h"
#include "runtime.h"

namespace lockstep::comm::mpi {

Requests::~Requests() {
  if (!requests_.empty()) Runtime::get().give_up("an operation ended while its messages were under way");
}

void Requests::start(MPI_Comm communicator, std::span<const Message> messages, int tag) {
  requests_.reserve(requests_.size() + messages.size());
  const auto start_one = [&](const Message& message) {
    const BytesType bytes(message.bytes);
    MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
    if (message.direction == Message::kReceive) {
      LOCKSTEP_CHECK_MPI(
          MPI_Irecv(message.data, bytes.count(), bytes.type(), message.peer, tag, communicator, &request));
    } else {
      LOCKSTEP_CHECK_MPI(
          MPI_Isend(message.data, bytes.count(), bytes.type(), message.peer, tag, communicator, &request));
    }
  };
  Runtime::get().call([&] {
    for (const auto direction : {Message::kReceive, Message::kSend}) {
      for (const Message& message : messages) {
        if (message.direction == direction) start_one(message);
      }
    }
  });
}

void Requests::start(const std::function<void(MPI_Request&)>& function) {
  MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
  Runtime::get().call([&] { function(request); });
}

bool Requests::poll() {
  int complete = 0;
  statuses_.resize(requests_.size());
  Runtime::get().call([&] {
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete, statuses_.data());
    if (code == MPI_ERR_IN_STATUS) check_statuses();
    check(code, "MPI_Testall()");
  });
  if (complete != 0) requests_.clear();
  return complete != 0;
}

void Requests::check_statuses() const {
  for (const MPI_Status& status : statuses_) {
    if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, "MPI_Testall()");
  }
}

void Requests::wait(const Patience& patience) {
  if (requests_.empty()) return;
  for (Backoff backoff; !poll();) backoff.rest(patience);
}

}  // namespace lockstep::comm::mpi
