#pragma once
/// What was wrong with a command line, in one line: the flag or word, where, and the nearest one that is known.
#include <CLI/CLI.hpp>
#include <string>

namespace attune::driver {

/// "bench: unknown flag '--varient', did you mean '--variant'?; see attune bench --help"
[[nodiscard]] std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace attune::driver
