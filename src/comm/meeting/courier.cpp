#include "courier.h"

#include <lockstep/base/plugin.h>

#include "../mpi/which.h"
#include "../operation.h"
#include "../watch.h"

namespace lockstep::comm {

Courier make_store_courier(c10::intrusive_ptr<c10d::Store> store, RankId rank) {
  return [store = std::move(store), rank](const std::string& text) {
    const std::string key = "lockstep/rendezvous";
    if (rank.rank == 0) store->set(key, text);
    return store->get_to_str(key);
  };
}

Courier make_mpi_courier(RankId rank, std::chrono::milliseconds timeout) {
  if (!mpi::launcher()) return {};
  return [rank, timeout](const std::string& text_of_rank_0) {
    using Broadcast = void (*)(std::string&, const Patience&);
    const auto broadcast =
        reinterpret_cast<Broadcast>(plugin_symbol("mpi_" + mpi::choose(rank.size), "lockstep_mpi_broadcast_text"));
    const Operation meeting{.name = "meeting through MPI"};
    const Watch alone({});
    std::string text = text_of_rank_0;
    broadcast(text, OperationPatience(meeting, timeout, alone));
    return text;
  };
}

}  // namespace lockstep::comm
