#include <CLI/CLI.hpp>
#include <vector>

#include "src/command.h"
#include "src/mpi_session.h"

namespace {

int exit_code(attune::Status status) { return static_cast<int>(status); }

/// Bad usage is told once, by rank 0, as are help texts.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (attune::driver::launched_rank() == 0) {
    if (error.get_exit_code() == 0) return app.exit(error);
    attune::driver::print_error(std::string(error.what()) + "; see attune --help");
  }
  return error.get_exit_code() == 0 ? 0 : exit_code(attune::Status::usage);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures, proves and tunes allreduce on the machine in front of it", "attune");
  app.require_subcommand(1);
  std::vector<attune::driver::Command> commands{attune::driver::make_sweep_command()};
  std::vector<CLI::App*> parsers;
  for (auto& command : commands) {
    parsers.push_back(app.add_subcommand(command.name, command.help));
    command.options(*parsers.back());
  }
  try {
    app.parse(argc, argv);
    for (std::size_t i = 0; i < commands.size(); ++i)
      if (parsers[i]->parsed()) return exit_code(commands[i].run());
  } catch (const CLI::ParseError& error) {
    return end_of_parse(app, error);
  } catch (const attune::Error& error) {
    if (attune::driver::launched_rank() == 0) attune::driver::print_error(error.what());
    return exit_code(error.status());
  } catch (const std::exception& error) {
    attune::driver::print_error(error.what());
    return exit_code(attune::Status::internal);
  }
  return 0;
}
