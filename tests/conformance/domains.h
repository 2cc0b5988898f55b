#pragma once
/// Teams that fall into domains, wherever they run.
#include <vector>

namespace attune::conformance {

/// The domain of every rank, `near` ranks in each.
[[nodiscard]] inline std::vector<int> domains_of(int ranks, int near) {
  std::vector<int> domains;
  for (int rank = 0; rank < ranks; ++rank) domains.push_back(rank / near);
  return domains;
}

/// As few as there can be, and more than one.
[[nodiscard]] inline std::vector<int> several_domains(int ranks) {
  int near = ranks / 2;
  while (near > 1 && ranks % near != 0) --near;
  return domains_of(ranks, near < 1 ? 1 : near);
}

}  // namespace attune::conformance
