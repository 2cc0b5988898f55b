/// attune cost: the cost cards of all variants, what a team moves in one call and what that is per rank.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "dispatch/json.h"
#include "src/command.h"
#include "src/units.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {

struct CostFlags {
  int ranks = 8;
  std::string bytes = "1M", variant;
  bool json = false;
};

/// What a card is of that depends on where ranks run.
constexpr const char* of_domains =
    "of two domains where ranks are even, else of one; partial sums of 8- and 16-bit floats take 4 bytes an element";

bool has_card(const VariantInfo& info) { return info.traits.numerics != Numerics::vendor; }

std::vector<const VariantInfo*> chosen(const CostFlags& flags) {
  if (!flags.variant.empty()) return {&variant(flags.variant)};
  std::vector<const VariantInfo*> all;
  for (const auto& info : variant_table) all.push_back(&info);
  for (const auto& info : fused_table) all.push_back(&info);
  return all;
}

Json card_json(const Cost& cost, double share) {
  const auto part = [share](Bytes bytes) { return static_cast<double>(bytes) * share; };
  return {{"peer_read_bytes", part(cost.peer_reads)},
          {"peer_write_bytes", part(cost.peer_writes)},
          {"local_read_bytes", part(cost.local_reads)},
          {"local_write_bytes", part(cost.local_writes)},
          {"notifies", part(cost.notifies)}};
}

void print_json(const CostFlags& flags, Bytes bytes) {
  Json json{{"ranks", flags.ranks}, {"bytes", bytes}, {"variants", Json::array()}};
  for (const auto* info : chosen(flags)) {
    Json one{{"variant", info->name},
             {"label", info->traits.label},
             {"numerics", name_of(info->traits.numerics)},
             {"in_place", info->traits.in_place == InPlace::safe ? "safe" : "through scratch"},
             {"chunked", info->traits.chunked}};
    if (has_card(*info)) {
      const Cost cost = info->cost(flags.ranks, bytes);
      one["team"] = card_json(cost, 1.0);
      one["per_rank"] = card_json(cost, 1.0 / flags.ranks);
      one["barriers"] = cost.barriers;
      one["rounds"] = cost.rounds;
      one["scratch_bytes_per_rank"] = info->scratch(flags.ranks, bytes);
      if (info->traits.needs == Needs::domains) one["note"] = of_domains;
    }
    json["variants"].push_back(std::move(one));
  }
  fmt::print("{}\n", json.dump(2));
}

void print_rows(const CostFlags& flags, Bytes bytes, int divisor) {
  std::size_t names = 0, labels = 0;
  for (const auto* info : chosen(flags)) {
    names = std::max(names, info->name.size());
    labels = std::max(labels, std::string_view(info->traits.label).size());
  }
  fmt::print("  {:<{}} {:<{}} {:>11} {:>11} {:>11} {:>11} {:>9} {:>7}  {}\n", "variant", names, "", labels, "peer read",
             "peer write", "local read", "local write", "barriers", "rounds", "numerics");
  const auto part = [divisor](Bytes all) { return readable_bytes(all / divisor); };
  for (const auto* info : chosen(flags)) {
    fmt::print("  {:<{}} {:<{}} ", info->name, names, info->traits.label, labels);
    if (!has_card(*info)) {
      fmt::print("no card: its traffic is its own affair\n");
      continue;
    }
    const Cost cost = info->cost(flags.ranks, bytes);
    fmt::print("{:>11} {:>11} {:>11} {:>11} {:>9} {:>7}  {}\n", part(cost.peer_reads), part(cost.peer_writes),
               part(cost.local_reads), part(cost.local_writes), cost.barriers, cost.rounds,
               name_of(info->traits.numerics));
  }
}

Status print_cards(const CostFlags& flags) {
  const Bytes bytes = parse_bytes(flags.bytes, "--bytes");
  if (flags.ranks < 1 || flags.ranks > max_ranks)
    throw Error(Status::usage, fmt::format("--ranks is {}", flags.ranks), fmt::format("a team has 1 to {}", max_ranks));
  if (flags.json) {
    print_json(flags, bytes);
    return Status::success;
  }
  fmt::print("One allreduce of {} per rank, {} ranks. Whole team:\n", readable_bytes(bytes), flags.ranks);
  print_rows(flags, bytes, 1);
  fmt::print("\nPer rank, on average:\n");
  print_rows(flags, bytes, flags.ranks);
  for (const auto* info : chosen(flags))
    if (info->traits.needs == Needs::domains) fmt::print("\n{}: {}\n", info->name, of_domains);
  return Status::success;
}

}  // namespace

Command make_cost_command() {
  auto flags = std::make_shared<CostFlags>();
  return {.name = "cost",
          .help = "Print the cost cards: what every variant moves in one call",
          .options =
              [flags](CLI::App& app) {
                app.add_option("--ranks", flags->ranks, "Ranks of the team")->capture_default_str();
                app.add_option("--bytes", flags->bytes, "Size of one rank's input")->capture_default_str();
                app.add_option("--variant", flags->variant, "This variant alone");
                app.add_flag("--json", flags->json, "Print one JSON object");
                app.footer("Example:\n  attune cost --ranks 8 --bytes 1M");
              },
          .run = [flags] { return print_cards(*flags); },
          .uses_ranks = false};
}

}  // namespace attune::driver
