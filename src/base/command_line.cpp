#include <lockstep/base/command_line.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

// The verb that was given, or the program itself.
const CLI::App& chosen_app(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : chosen_app(*verbs.front());
}

// "lockstep run", as the user typed it.
std::string command_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : command_of(*parent) + " " + app.get_name();
}

std::vector<std::string> known_flags(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> known_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// CLI11 counts values, where a person has left one out or given a flag twice.
std::string explain_count(const CLI::ArgumentMismatch& mismatch) {
  const std::string text = mismatch.what();
  const std::string flag = text.substr(0, text.find(':'));
  if (text.ends_with(" missing")) return flag + " needs a value";
  return text.starts_with(flag + ": At Most 1 ") ? flag + " is given more than once" : text;
}

UsageError explain_extra(const CLI::App& app, const std::string& word) {
  const bool flag = word.starts_with("-");
  const bool verb = !flag && !known_verbs(app).empty();
  const std::string name = word.substr(0, word.find('='));
  return UsageError({.message = fmt::format("{}: unknown {} '{}'{}", command_of(app),
                                            flag   ? "flag"
                                            : verb ? "command"
                                                   : "argument",
                                            name, did_you_mean(name, flag ? known_flags(app) : known_verbs(app))),
                     .next = command_of(app) + " --help"});
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv,
                                      std::vector<std::string>* after_dashes) {
  if (after_dashes != nullptr) {
    const auto* end = argv + argc;
    const auto* dashes = std::find(argv, end, std::string_view("--"));
    if (dashes != end) {
      after_dashes->assign(dashes + 1, end);
      argc = static_cast<int>(dashes - argv);
    }
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    const CLI::App& at = chosen_app(app);
    std::cout << at.help(at.get_parent() == nullptr ? "" : command_of(*at.get_parent()));
    return kExitSuccess;
  } catch (const CLI::CallForVersion& request) {
    std::cout << request.what() << '\n';
    return kExitSuccess;
  } catch (const CLI::ParseError& error) {
    const CLI::App& at = chosen_app(app);
    // A word that nothing took explains the mistake better than what is missing because of it.
    if (const auto extras = at.remaining(); !extras.empty()) throw explain_extra(at, extras.front());
    const auto* mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error);
    const bool no_verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !known_verbs(at).empty();
    const std::string what = no_verb               ? "a command is missing"
                             : mismatch != nullptr ? explain_count(*mismatch)
                                                   : error.what();
    throw UsageError({.message = command_of(at) + ": " + what, .next = command_of(at) + " --help"});
  }
}

}  // namespace lockstep
