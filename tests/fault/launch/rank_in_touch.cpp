// A rank that meets the others at the launcher's rendezvous and gives up at once, with an error, when one of them is
// lost: rank_in_touch FOLDER. It makes the file FOLDER/up.RANK.PID before it joins. SIGUSR2 lets it exit with the code
// that comes with the signal.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/rank_page.h>
#include <lockstep/base/rendezvous_client.h>

namespace {

using namespace std::chrono_literals;

void exit_as_told(int /*signal*/, siginfo_t* info, void* /*context*/) {
  ::_exit(info->si_value.sival_int);
}

lockstep::RankId place() {
  return {static_cast<int>(lockstep::env::get_int("RANK").value()),
          static_cast<int>(lockstep::env::get_int("WORLD_SIZE").value())};
}

lockstep::RendezvousClientOptions rendezvous() {
  const std::string address = lockstep::env::get("LOCKSTEP_RENDEZVOUS").value();
  const std::size_t colon = address.rfind(':');
  return {.host = address.substr(0, colon), .port = std::stoi(address.substr(colon + 1))};
}

int body(int, char** argv) {
  const lockstep::RankId self = place();
  std::ofstream(fmt::format("{}/up.{}.{}", argv[1], self.rank, ::getpid()));
  const lockstep::Token token = lockstep::Token::from_environment().value();
  lockstep::RendezvousClient client(token, rendezvous());
  client.join({.id = self, .host = "here", .pid = ::getpid()});
  lockstep::RankPage* page = lockstep::RankPage::of_this_process();
  page->begin("all_reduce", 7, "float32[10]");
  for (;;) {
    const auto lost = client.wait_for_loss(0, 60s);
    if (lost.empty()) continue;
    page->blame(lost.front().member.id.rank);
    throw lockstep::RuntimeError(
        {.message = "all_reduce #7 (float32[10]) failed", .found = lost.front().member.name() + " was lost"});
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action {};
  action.sa_sigaction = exit_as_told;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGUSR2, &action, nullptr);
  return lockstep::report_errors(place(), body, argc, argv);
}
