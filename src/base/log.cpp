#include <lockstep/base/log.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::log {
namespace {

struct Wishes {
  spdlog::level::level_enum level = spdlog::level::info;
  bool all_ranks = false;
};

Wishes read_environment() {
  static const std::map<std::string, spdlog::level::level_enum> kLevels = {{"debug", spdlog::level::debug},
                                                                           {"info", spdlog::level::info},
                                                                           {"warning", spdlog::level::warn},
                                                                           {"error", spdlog::level::err},
                                                                           {"off", spdlog::level::off}};
  Wishes wishes;
  for (const std::string& word : split(env::get("LOCKSTEP_LOG").value_or(""), ',')) {
    if (word.empty()) continue;
    if (word == "all") {
      wishes.all_ranks = true;
    } else if (const auto found = kLevels.find(word); found != kLevels.end()) {
      wishes.level = found->second;
    } else {
      throw UsageError({.message = "LOCKSTEP_LOG is not understood",
                        .found = word,
                        .expected = "a list of 'all' and one of debug, info, warning, error, off"});
    }
  }
  return wishes;
}

std::atomic<bool> told_of_missing_lines{false};

// On stderr alone, and once: a disk that is full stays so for a while.
void tell_of_missing_lines(const std::string& file, const std::string& why) {
  if (told_of_missing_lines.exchange(true)) return;
  const auto& screen = spdlog::default_logger()->sinks().front();
  if (!screen->should_log(spdlog::level::warn)) return;
  const auto colon = why.rfind(": ");  // the system's own words stand behind it
  const std::string reason = colon == std::string::npos ? why : why.substr(colon + 2);
  const std::string text = fmt::format("warning: lines are missing in {}: {}", file, reason);
  screen->log({"lockstep", spdlog::level::warn, escape_controls(text)});
}

}  // namespace

std::string prefix(RankId rank) {
  const bool labelled_by_launcher = env::get("LOCKSTEP_LABELLED").has_value();
  return rank.size > 1 && !labelled_by_launcher ? rank.label() + " " : "";
}

void configure(const Options& options) {
  Wishes wishes = read_environment();
  const bool speaks = options.rank.rank == 0 || options.all_ranks || wishes.all_ranks;
  if (!speaks && wishes.level < spdlog::level::err) wishes.level = spdlog::level::err;

  auto logger = std::make_shared<spdlog::logger>("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(prefix(options.rank) + "%v");
  logger->set_level(wishes.level);
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void write_also_to(const std::filesystem::path& file) {
  const auto logger = spdlog::default_logger();
  try {
    const auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string(), /*truncate=*/false);
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
    sink->set_level(std::min(logger->level(), spdlog::level::info));
    for (const auto& other : logger->sinks()) other->set_level(logger->level());
    logger->set_level(sink->level());
    logger->sinks().push_back(sink);
    logger->set_error_handler([name = file.string()](const std::string& why) { tell_of_missing_lines(name, why); });
    told_of_missing_lines = false;
  } catch (const spdlog::spdlog_ex& error) {
    warning("there is no log in a file: {}", error.what());
  }
}

void write_to_file(const std::string& text) {
  for (const auto& sink : spdlog::default_logger()->sinks()) {
    const auto* file = dynamic_cast<spdlog::sinks::basic_file_sink_mt*>(sink.get());
    if (file == nullptr) continue;
    try {
      sink->log({"lockstep", spdlog::level::err, escape_controls(text, /*keep_newlines=*/true)});
      sink->flush();
    } catch (const spdlog::spdlog_ex& error) {
      tell_of_missing_lines(file->filename(), error.what());
    }
  }
}

void write(Level level, const std::string& message) {
  const std::string text = escape_controls(message);
  switch (level) {
    case Level::kDebug:
      spdlog::debug("debug: {}", text);
      break;
    case Level::kInfo:
      spdlog::info("{}", text);
      break;
    case Level::kWarning:
      spdlog::warn("warning: {}", text);
      break;
    case Level::kError:
      spdlog::error("error: {}", text);
      break;
  }
}

}  // namespace lockstep::log
