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
};

[[nodiscard]] Command make_sweep_command();

}  // namespace attune::driver
