#pragma once
/// The property test: random cases over everything at once, on any crew.
#include "cases.h"

namespace attune::conformance {

/// Runs `cases` random cases over communicators with small and large scratch and flags that begin near the wrap.
/// Returns the failures of all ranks, each with what reproduces it. Collective.
[[nodiscard]] std::string run_random_cases(Crew& crew, std::uint64_t seed, int cases);

}  // namespace attune::conformance
