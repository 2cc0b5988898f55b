#pragma once
/// A subcommand of the program: `attune <name> …`. Each lives in one file src/cmd_<name>.cpp and is made by
/// `Command make_<name>_command();`, which src/main.cpp lists.
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "core/error.h"

namespace attune::driver {

struct Command {
  std::string name;
  std::string help;                        ///< One line for `attune --help`.
  std::function<void(CLI::App&)> options;  ///< Declares the flags, bound to what `run` reads.
  std::function<Status()> run;             ///< After parsing. Throws Error, which main prints as one line.
  bool uses_ranks = true;                  ///< False: under mpirun rank 0 alone runs it.
};

[[nodiscard]] Command make_sweep_command();
[[nodiscard]] Command make_bench_command();
[[nodiscard]] Command make_lookup_command();
[[nodiscard]] Command make_info_command();
[[nodiscard]] Command make_cost_command();
[[nodiscard]] Command make_tune_command();
[[nodiscard]] Command make_verify_command();
[[nodiscard]] Command make_export_command();
[[nodiscard]] Command make_import_command();
[[nodiscard]] Command make_compare_command();

}  // namespace attune::driver
