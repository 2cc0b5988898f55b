#include "property.h"

#include <fmt/format.h>

#include <algorithm>

#include "domains.h"
#include "random.h"
#include "variants/registry.h"

namespace attune::conformance {

namespace {
constexpr int cases_per_communicator = 50;

/// More bytes where there are fewer ranks: the memory and time of a test are bounded.
Bytes most_bytes_of(int ranks) { return ranks <= 3 ? 4 * 1000003 : Bytes{1} << 18; }

Options options_of(Random& random, int ranks) {
  Options options;
  options.table = "none";
  options.timeout_s = 120;
  options.scratch_bytes = random.pick<Bytes>({8192, 65536, 1 << 20});
  options.stores = random.pick({Stores::tried, Stores::past_cache, Stores::through_cache});
  options.first_epoch = random.pick<std::uint32_t>({0, 0xFFFFFFFFU, 0xFFFFFF00U, 0x7FFFFFF0U});
  int near = ranks;
  do near = 1 + static_cast<int>(random.below(ranks));
  while (ranks % near != 0);
  options.domains = domains_of(ranks, near);
  return options;
}

/// Those that run on this communicator: two levels need several domains.
std::vector<std::string_view> possible(std::vector<std::string_view> variants, const Communicator& comm) {
  std::erase_if(variants,
                [&](auto name) { return variant(name).traits.needs == Needs::domains && !comm.why_not(name).empty(); });
  return variants;
}
}  // namespace

std::string run_random_cases(Crew& crew, std::uint64_t seed, int cases) {
  const auto all = variants_to_test(crew.has_vendor());
  Choices choices{all, crew.ranks(), most_bytes_of(crew.ranks())};
  const auto only = static_cast<int>(from_environment("ATTUNE_TEST_ONLY", static_cast<std::uint64_t>(-1)));
  std::string failures;
  for (int first = 0; first < cases && failures.size() < 2000; first += cases_per_communicator) {
    Random random(mix(seed, static_cast<std::uint64_t>(first)));
    auto comm = crew.communicator(options_of(random, crew.ranks()));
    choices.variants = possible(all, comm);
    if (choices.variants.empty()) continue;  // the one to test is not for one domain
    Arena arena(comm, choices.most_bytes);
    for (int number = first; number < std::min(cases, first + cases_per_communicator); ++number) {
      if (only >= 0 && only != number) continue;
      const Case c = draw(mix(seed, static_cast<std::uint64_t>(number + crew.ranks() * 1000000)), choices);
      std::uint64_t hash = 0;
      const auto mine = run(c, comm, arena, hash);
      const auto error = crew.first_error(mine, hash);
      if (error.empty()) continue;
      failures +=
          fmt::format("{}\n  {}\n  again: ATTUNE_TEST_SEED={} ATTUNE_TEST_ONLY={}\n", error, describe(c), seed, number);
    }
  }
  return failures;
}

}  // namespace attune::conformance
