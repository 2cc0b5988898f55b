#include "tests/tuner_lab/machine.h"

#include <algorithm>
#include <cmath>

#include "tuner/search.h"
#include "variants/registry.h"

namespace attune::tuner::lab {
namespace {

constexpr double mode_change = 1.0 / 300;  ///< Chance per sample.

/// Blocks and chunks that a sweep would try.
std::vector<Plan> plans_of_variants(const std::vector<int>& blocks_to_try) {
  std::vector<Plan> plans{Plan{}};
  for (const VariantInfo& info : variant_table) {
    if (info.name == "vendor" || !admits(Numerics::per_hop, info.traits.numerics) ||
        info.traits.family == Family::fused || info.traits.needs == Needs::domains)
      continue;
    for (const int blocks : blocks_to_try) {
      if (blocks > info.traits.max_blocks) continue;
      plans.push_back({.variant = std::string(info.name), .blocks = blocks});
      if (info.traits.chunked)
        plans.push_back({.variant = std::string(info.name), .blocks = blocks, .chunk_bytes = 65536});
    }
  }
  return plans;
}

}  // namespace

std::vector<Kind> all_kinds() {
  return {
      {.name = "quiet server", .ranks = 8, .noise = 0.01},
      {.name = "laptop", .ranks = 2, .noise = 0.04, .drift = 0.05, .outliers = 0.01, .spikes = 0.01},
      {.name = "virtual machine",
       .ranks = 2,
       .noise = 0.03,
       .correlation = 0.6,
       .drift = 0.02,
       .outliers = 0.02,
       .spikes = 0.02},
      {.name = "two modes", .ranks = 4, .noise = 0.015, .modes = 0.5},
      {.name = "near ties", .ranks = 4, .block_us = 0.05, .block_gain = 0.1, .quirk = 0.015, .noise = 0.02},
      {.name = "good vendor", .ranks = 4, .vendor_call_us = 0.05, .vendor_factor = 0.8, .noise = 0.03, .spikes = 0.01},
      {.name = "many blocks",
       .ranks = 8,
       .peer_speed = 1500,
       .local_speed = 4000,
       .block_us = 0.8,
       .block_gain = 0.95,
       .noise = 0.02},
      {.name = "small caches",
       .ranks = 4,
       .cache_bytes = 512 << 10,
       .memory_share = 0.2,
       .noise = 0.025,
       .correlation = 0.3},
      // Fitted to journals of a 2-core virtual machine that compiled beside the sweep.
      {.name = "busy", .ranks = 2, .noise = 0.4, .correlation = 0.35, .drift = 0.05, .outliers = 0.1, .spikes = 0.15},
  };
}

Machine::Machine(Kind kind, std::uint64_t seed, const Clock& clock)
    : kind_(std::move(kind)), random_(seed), plans_(plans_of_variants(kind_.blocks)), clock_(clock) {
  std::uniform_real_distribution<double> angle(0, 6.283185307179586);
  std::uniform_real_distribution<double> chance(0, 1);
  std::normal_distribution<double> level(0, kind_.quirk);
  for (const Plan& plan : plans_) {
    State& state = states_[plan];
    state.phase = angle(random_);
    state.level = level(random_);
    state.two_modes = chance(random_) < kind_.modes;
  }
  std::mt19937_64 other(seed + 1);
  for (const DType dtype : {DType::bf16, DType::f64})
    for (auto& [plan, state] : states_) state.lean[dtype] = level(other);
}

double Machine::speed_share(double working_set) const {
  // Smooth from 1 (far inside the cache) to memory_share (far beyond).
  const double beyond = 1 / (1 + std::pow(kind_.cache_bytes / std::max(working_set, 1.0), 2));
  return 1 / (1 + beyond * (1 / kind_.memory_share - 1));
}

double Machine::card_us(const Plan& plan, double bytes) const {
  const Cost cost = *cost_of_variant(plan, kind_.ranks, static_cast<Bytes>(bytes));
  const double speedup = std::pow(plan.blocks, kind_.block_gain) * speed_share(2 * bytes * kind_.ranks);
  const double peer = static_cast<double>(cost.peer_reads + cost.peer_writes) / kind_.ranks / kind_.peer_speed;
  const double local = static_cast<double>(cost.local_reads + cost.local_writes) / kind_.ranks / kind_.local_speed;
  double steps = cost.rounds;
  // Chunks overlap the steps of a pipeline, and each costs a step of its own.
  double pipelining = 1;
  if (plan.chunk_bytes > 0) {
    const double chunks = std::max(1.0, bytes / kind_.ranks / static_cast<double>(plan.chunk_bytes));
    steps += chunks - 1;
    pipelining = 0.8 + 0.2 / chunks;
  }
  return kind_.call_us + steps * kind_.step_us + cost.barriers * kind_.barrier_us + (plan.blocks - 1) * kind_.block_us +
         (peer + local) * pipelining / speedup;
}

double Machine::vendor_us(double bytes) const {
  // Recursive doubling for short messages, reduce-scatter and all-gather above, as MPI libraries do.
  const double rounds = std::log2(kind_.ranks);
  const double least = 2 * bytes / kind_.local_speed + 2 * bytes / kind_.peer_speed;
  const double share = speed_share(2 * bytes * kind_.ranks);
  const double transfer =
      kind_.vendor_factor * least / share * (bytes < 16384 ? rounds : 2 * (kind_.ranks - 1.0) / kind_.ranks);
  return kind_.vendor_call_us + (bytes < 16384 ? rounds : 2 * rounds) * (kind_.step_us + kind_.vendor_call_us) +
         transfer;
}

double Machine::true_us(const Plan& plan, Bytes bytes, DType dtype) const {
  const auto size = static_cast<double>(bytes);
  const State& state = states_.at(plan);
  const double octaves = std::log2(size + 1);
  const auto lean = state.lean.find(dtype);
  const double quirk = state.level + (lean == state.lean.end() ? 0 : lean->second) +
                       0.5 * kind_.quirk * std::sin(octaves / 2 + state.phase);
  const double modes = state.two_modes ? kind_.mode_gap / 2 : 0;  // half of the time in either
  return (plan.variant == "vendor" ? vendor_us(size) : card_us(plan, size)) * std::exp(quirk + modes);
}

double Machine::sample_us(const Plan& plan, Bytes bytes, DType dtype) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> chance(0, 1);
  State& state = states_.at(plan);
  ++samples_;
  drift_ = 0.9999 * drift_ + kind_.drift * normal(random_) / std::sqrt(1000.0);
  state.correlated = kind_.correlation * state.correlated +
                     std::sqrt(1 - kind_.correlation * kind_.correlation) * kind_.noise * normal(random_);
  if (state.two_modes && chance(random_) < mode_change) state.slow = !state.slow;
  const double mode = state.two_modes ? (state.slow ? 0.5 : -0.5) * kind_.mode_gap : 0;
  double time = true_us(plan, bytes, dtype) * std::exp(drift_ + state.correlated + mode);
  if (chance(random_) < kind_.spikes) time *= 1.5 + 2.5 * chance(random_);
  if (chance(random_) < kind_.outliers) time += 5 * std::pow(100.0, chance(random_));
  return time;
}

std::vector<Measured> Machine::round(const Problem& problem, std::span<const Plan> plans, int calls_per_plan) {
  std::vector<std::size_t> order(plans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random_);
  std::vector<Measured> answers(plans.size());
  const auto bytes = static_cast<double>(problem.bytes());
  for (const std::size_t i : order) {
    if (seen_.emplace(problem, plans[i]).second)
      now_s_ += answers[i].setup_s = clock_.setup + clock_.setup_per_byte * bytes;
    for (int call = 0; call < calls_per_plan; ++call) {
      const double time = sample_us(plans[i], problem.bytes(), problem.dtype);
      now_s_ += clock_.sample + (clock_.times ? 1e-6 * time : 0) + clock_.per_byte * bytes;
      answers[i].samples_us.push_back(time);
    }
  }
  return answers;
}

}  // namespace attune::tuner::lab
