/// A table of subcommands, one way to fail.
#include "src/program.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <vector>

#include "src/command.h"
#include "src/mpi_session.h"
#include "src/usage.h"

namespace attune::driver {

namespace {

constexpr auto program_footer =
    "Examples:\n"
    "  mpirun -n 2 attune sweep --config configs/quick.json --out runs/today    measure, validate, tune\n"
    "  mpirun -n 2 attune bench -b 8 -e 64M -f 2 --table runs/today/table.json  nccl-tests' columns\n"
    "  attune lookup --table runs/today/table.json --ranks 2 --dtype f32 --op sum --bytes 1M\n"
    "\n"
    "Exit codes: 0 success, 1 internal, 2 device, 3 vendor library, 4 timeout, 5 unsupported here,\n"
    "            6 bad usage, configuration or file, 7 wrong results or below a given threshold.\n"
    "Environment: ATTUNE_TABLE, ATTUNE_TABLE_PATH, ATTUNE_LOG=dispatch, ATTUNE_TIMEOUT_S, ATTUNE_DOMAINS, ATTUNE_ISA.";

/// All subcommands, in the order in which people meet them.
std::vector<Command> all_commands() {
  return {make_info_command(),   make_sweep_command(),  make_tune_command(), make_verify_command(),
          make_bench_command(),  make_lookup_command(), make_cost_command(), make_export_command(),
          make_import_command(), make_compare_command()};
}

/// What all ranks meet alike is told by rank 0 alone. The others leave with success: a launcher that sees a failing
/// rank first would end rank 0 before it has spoken, and rank 0's code is the job's.
int told_by_one_rank(const std::string& text, Status status) {
  if (launched_rank() != 0) return 0;
  print_error(text);
  return static_cast<int>(status);
}

int run_command(const Command& command) {
  if (!command.uses_ranks && launched_rank() != 0) return 0;
  try {
    return static_cast<int>(command.run());
  } catch (const Error& error) {
    return told_by_one_rank(error.what(), error.status());
  } catch (const std::exception& error) {
    return told_by_one_rank(error.what(), Status::internal);
  }
}

/// Help and version texts are success, everything else is bad usage.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return told_by_one_rank(explain(app, error), Status::usage);
  return launched_rank() == 0 ? app.exit(error) : 0;
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App app("Measures, proves and tunes allreduce on the machine in front of it.", "attune");
  app.set_version_flag("--version", "attune " ATTUNE_VERSION);
  app.require_subcommand(1);
  app.footer(program_footer);
  const auto commands = all_commands();
  std::vector<const CLI::App*> parsers;
  for (const auto& command : commands) {
    CLI::App& parser = *app.add_subcommand(command.name, command.help);
    command.options(parser);
    parsers.push_back(&parser);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parse(app, error);
  }
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (parsers[i]->parsed()) return run_command(commands[i]);
  return 0;
}

}  // namespace attune::driver
