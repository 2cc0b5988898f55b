#pragma once
/// What the environment says: read once per communicator, checked, equal on all ranks.
#include <functional>
#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune {

struct Settings {
  double timeout_s = 30;
  bool log_dispatch = false;
  std::vector<int> domains;  ///< The number of every rank's domain; empty = the machine's.
};

/// ATTUNE_TIMEOUT_S, or `otherwise` where it is not set. Throws Error(usage) when it is no number of seconds.
[[nodiscard]] double timeout_from_environment(double otherwise);

/// ATTUNE_DOMAINS, empty where it is not set. Throws Error(usage) when it is no list of numbers, one for every rank.
[[nodiscard]] std::vector<int> domains_from_environment(int ranks);

/// From options and ATTUNE_TIMEOUT_S, ATTUNE_LOG, ATTUNE_DOMAINS. Throws Error(usage) on all ranks when a word or
/// number is none on some rank. Collective.
[[nodiscard]] Settings agree_on_settings(Bootstrap& bootstrap, const Options& options);

/// The table for this team: rank 0 finds and reads it, everybody gets the same text, or the same error. Collective.
struct AgreedTable {
  Table table;
  std::string path;
  std::string warning;
};
[[nodiscard]] AgreedTable agree_on_table(Bootstrap& bootstrap, const Options& options);

}  // namespace attune
