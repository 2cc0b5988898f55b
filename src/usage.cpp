#include "src/usage.h"

#include <fmt/format.h>

#include <vector>

#include "core/nearest.h"

namespace attune::driver {

namespace {

/// The subcommand that was being read when parsing stopped, or the program itself.
const CLI::App& where_it_stopped(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.back();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
    for (const auto& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands(nullptr)) names.push_back(subcommand->get_name());
  return names;
}

/// A suggestion for a long flag is a long flag; for short ones nearness of spelling means nothing.
std::string unknown_flag(const CLI::App& app, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (auto& name : flags_of(app))
    if (name.size() > 2) known.push_back(std::move(name));
  const std::string_view near = flag.size() > 2 ? nearest_of(flag, known) : std::string_view{};
  return fmt::format("unknown flag '{}'{}", flag, near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

std::string fault(const CLI::App& app, const CLI::App& stopped, const CLI::ParseError& error) {
  const auto extras = stopped.remaining();
  if (!extras.empty() && extras.front().size() > 1 && extras.front().front() == '-')
    return unknown_flag(stopped, extras.front());
  if (!extras.empty() && &stopped == &app)
    return fmt::format("unknown command {}", with_suggestion(extras.front(), subcommands_of(app)));
  if (!extras.empty()) return fmt::format("unexpected word '{}'", extras.front());
  if (&stopped == &app) return fmt::format("no command; known: {}", fmt::join(subcommands_of(app), ", "));
  return error.what();
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& stopped = where_it_stopped(app);
  const std::string command = &stopped == &app ? "" : stopped.get_name();
  return fmt::format("{}{}; see attune {}--help", command.empty() ? "" : command + ": ", fault(app, stopped, error),
                     command.empty() ? "" : command + " ");
}

}  // namespace attune::driver
