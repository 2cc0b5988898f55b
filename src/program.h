#pragma once
/// The program, for main.

namespace attune::driver {

/// Runs the subcommand that the words name; returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace attune::driver
