#include "guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/log.h>
#include <lockstep/launch/pipe.h>

#include "process_tree.h"
#include "signals.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void become_body(const std::function<int(int)>& body, UniqueFd guardian) {
  ::setpgid(0, 0);             // what is sent to the guardian's group, from a terminal say, comes through the guardian
  ::signal(SIGTTOU, SIG_IGN);  // it may write to that terminal all the same
  adopt_orphans();
  int code = 0;
  try {
    code = body(guardian.get());
  } catch (const std::exception& error) {
    code = report_error({}, error);  // here: an exception does not cross to the guardian's process
  }
  end_descendants(5s);
  ::_exit(code);
}

// The body's exit code, when it and all that it had started are gone.
int wait_for(pid_t body, SignalReader& signals) {
  int passed_on = 0;
  for (;;) {
    int status = 0;
    if (::waitpid(body, &status, WNOHANG) == body) {
      end_descendants(5s);  // before anything is said: nobody may be there to hear it
      if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
      if (WTERMSIG(status) != passed_on) {  // else it did as it was asked
        log::error("the launcher's process {} was ended by signal {} ({}); all that it had started was ended", body,
                   WTERMSIG(status), ::strsignal(WTERMSIG(status)));
      }
      return 128 + WTERMSIG(status);
    }
    if (const auto number = signals.next(1h); number && *number != SIGCHLD) {
      passed_on = *number;
      ::kill(body, passed_on);
    }
  }
}

// From now on the kernel ends this process when its guardian dies.
void die_with(int guardian) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd gone{.fd = guardian, .events = POLLIN, .revents = 0};
  if (::poll(&gone, 1, 0) != 0) ::_exit(kExitFailure);  // it died before the line above
}

}  // namespace

int guard(const std::function<int(int guardian)>& body) {
  ::signal(SIGPIPE, SIG_IGN);  // words that nobody reads, as after the death of an ssh, must end neither process
  Pipe life_line = make_pipe();
  adopt_orphans();
  SignalReader signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start another process", errno);
  if (pid == 0) {
    life_line.write_end.reset();
    become_body(body, std::move(life_line.read_end));
  }
  life_line.read_end.reset();
  return wait_for(pid, signals);
}

Expendable::Expendable(int guardian) {
  die_with(guardian);
  struct sigaction deadly {};  // whoever started this process may have it ignore or handle them
  deadly.sa_handler = SIG_DFL;
  sigset_t deliver;
  sigemptyset(&deliver);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &deadly, &previous_actions_[i]);
    sigaddset(&deliver, kSignals[i]);
  }
  ::sigprocmask(SIG_UNBLOCK, &deliver, &previous_mask_);
}

Expendable::~Expendable() {
  ::sigprocmask(SIG_SETMASK, &previous_mask_, nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_actions_[i], nullptr);
  ::prctl(PR_SET_PDEATHSIG, 0);
}

void stand_down(int guardian) {
  end_descendants(5s);
  die_with(guardian);
  sigset_t asks;
  sigemptyset(&asks);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&asks, number);
  ::sigprocmask(SIG_UNBLOCK, &asks, nullptr);
}

}  // namespace lockstep::launch
