#include "messages.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/errors.h>

#include "../local/store_meeting.h"
#include "../store_messages.h"

namespace lockstep::comm::ccl {
namespace {

// Engine or StoreMessages: both have the two functions.
template <typename Carrier>
class Carried final : public Messages {
 public:
  explicit Carried(std::unique_ptr<Carrier> carrier) : carrier_(std::move(carrier)) {}

  std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag) override {
    return carrier_->start_send(block, destination, tag);
  }
  std::unique_ptr<Transfer> start_receive(Block block, int source, int tag) override {
    return carrier_->start_receive(block, source, tag);
  }

 private:
  std::unique_ptr<Carrier> carrier_;
};

}  // namespace

std::unique_ptr<Messages> make_messages(const BackendRequest& request, const Patience& patience) {
  if (request.one_node()) {
    try {
      return std::make_unique<Carried<Engine>>(make_local_engine(request.rank, meet_at(request.store), patience));
    } catch (const Error&) {
      patience.check();  // else some rank cannot share memory, and all of them know
    }
  }
  const auto store = c10::make_intrusive<c10d::PrefixStore>("messages/", request.store);
  return std::make_unique<Carried<StoreMessages>>(std::make_unique<StoreMessages>(store, request.rank));
}

}  // namespace lockstep::comm::ccl
