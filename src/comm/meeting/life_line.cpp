#include "life_line.h"

#include <exception>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rank_page.h>

namespace lockstep::comm {
namespace {

constexpr auto kLongPoll = std::chrono::minutes(1);

}  // namespace

LifeLine::LifeLine(const Token& token, const RendezvousClientOptions& options, const Member& self, std::string server,
                   std::shared_ptr<LossFlag> loss)
    : member_(token, options), watcher_(token, options), server_(std::move(server)), loss_(std::move(loss)) {
  member_.join(self);
  thread_ = std::thread([this] { watch(); });
}

LifeLine::~LifeLine() {
  try {
    // A rank that an error carries off did not come to its end: others who wait for it must know.
    if (std::uncaught_exceptions() > 0) {
      member_.close();
    } else {
      member_.leave();
    }
  } catch (const Error&) {
    // Who served the meeting is gone; nobody is left to say goodbye to.
  }
  watcher_.close();
  thread_.join();
}

void LifeLine::watch() {
  try {
    for (;;) {
      const auto lost = watcher_.wait_for_loss(0, kLongPoll);
      if (lost.empty()) continue;
      const Member& first = lost.front().member;
      if (RankPage* page = RankPage::of_this_process()) page->blame(first.id.rank);
      loss_->raise(first.name() + " was lost");
      return;
    }
  } catch (const Error& error) {
    // At the end of this object the connection is closed on purpose, and nobody looks at the flag any more.
    loss_->raise(fmt::format("the connection to {} was lost: {}", server_, error.parts().message));
  }
}

}  // namespace lockstep::comm
