#include "tuner/decision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace attune::tuner {
namespace {

const std::string vendor_name = "vendor";
/// Plans that are this many times as slow by their medians need no paired comparison to lose; no tie and
/// no slack is that wide.
constexpr double far_behind = 1.5;

struct Eligible {
  const Cell* cell;
  PlanFacts facts;
  CellTime time;
};

std::vector<Eligible> eligible_of(const SizeCells& size, const Excluded& excluded, const FactsOf& facts,
                                  const DecisionOptions& options) {
  std::vector<Eligible> eligible;
  for (const Cell& cell : size.cells) {
    const auto known = facts(cell.plan);
    if (cell.usable() && !excluded.contains(cell.plan) && known && admits(options.numerics, known->numerics))
      eligible.push_back({&cell, *known, time_of(cell, options.confidence)});
  }
  return eligible;
}

std::ptrdiff_t tried(const SizeCells& size) {
  return std::ranges::count_if(size.cells, [](const Cell& cell) { return cell.status != CellStatus::unsupported; });
}

/// Once anything was measured afresh only fresh times decide; the vendor always takes part.
bool contends(const Cell& cell, bool any_fresh) { return cell.fresh || !any_fresh || cell.plan.variant == vendor_name; }

/// The fastest contender: least median, then whatever beats it in paired rounds (drift between rounds cancels there).
const Eligible* fastest_of(const std::vector<Eligible>& eligible, bool any_fresh, double confidence) {
  const Eligible* best = nullptr;
  for (const Eligible& one : eligible)
    if (contends(*one.cell, any_fresh) && (best == nullptr || one.time.median_us < best->time.median_us)) best = &one;
  for (std::size_t round = 0; round < eligible.size(); ++round) {
    const Eligible* better = nullptr;
    double ratio = 1;
    for (const Eligible& one : eligible) {
      const bool near = one.time.median_us < far_behind * best->time.median_us;
      if (&one == best || !near || !contends(*one.cell, any_fresh)) continue;
      const double other = compare(*one.cell, *best->cell, confidence).ratio;
      if (other < ratio) better = &one, ratio = other;
    }
    if (better == nullptr) break;
    best = better;
  }
  return best;
}

Confidence confidence_of(const Cell& cell) {
  if (cell.noisy || cell.oversubscribed || !cell.converged) return Confidence::low;
  return cell.launches > 1 || cell.fresh ? Confidence::high : Confidence::medium;
}

/// The interval says nothing yet, but there is no doubt: in two rounds or more the samples of `a` lie below those of
/// `b` by the rank-sum test, and by a ratio that no drift between rounds explains.
bool clearly_less(const Cell& a, const Cell& b, const Comparison& comparison, double confidence) {
  if (comparison.pairs < 2 || comparison.surely_more() || comparison.ratio * far_behind > 1) return false;
  return rank_sum_less(a.samples_us, b.samples_us) <= (1 - confidence) / 2;
}

/// What all candidates of a size are held against.
struct Field {
  const Eligible* best = nullptr;
  const Eligible* vendor = nullptr;  ///< Null: not measured.
  bool any_fresh = false;
  double confidence = 0;
};

Candidate candidate_of(const Eligible& one, const Field& field) {
  const Cell& cell = *one.cell;
  Candidate candidate{.plan = cell.plan,
                      .complexity = one.facts.complexity,
                      .loss = 0,
                      .contends = contends(cell, field.any_fresh),
                      .beats_vendor = field.vendor == nullptr,
                      .confidence = confidence_of(cell),
                      .time = one.time};
  const double by_medians = one.time.median_us / field.best->time.median_us;
  const bool far = by_medians >= far_behind;
  if (&one != field.best)
    candidate.loss = std::max(0.0, (far ? by_medians : compare(cell, *field.best->cell, field.confidence).ratio) - 1);
  if (field.vendor == nullptr || &one == field.vendor) return candidate;
  const Comparison comparison = far ? Comparison{.ratio = one.time.median_us / field.vendor->time.median_us}
                                    : compare(cell, *field.vendor->cell, field.confidence);
  const Cell& vendor = *field.vendor->cell;
  candidate.beats_vendor = comparison.surely_less() || clearly_less(cell, vendor, comparison, field.confidence);
  candidate.to_vendor = comparison.ratio;
  candidate.confidence = std::min(candidate.confidence, confidence_of(vendor));
  return candidate;
}

/// Order of preference within a tie.
auto preference(const Candidate& candidate) {
  return std::tuple(candidate.plan.blocks, candidate.complexity, candidate.plan.threads, candidate.loss);
}

struct Picked {
  const Candidate* candidate;
  const char* why;
  bool in_doubt = false;
};

Picked pick(const std::vector<Candidate>& candidates, const DecisionOptions& options) {
  const bool fewest_blocks = options.objective == Objective::blocks;
  const double band = fewest_blocks ? options.slack : options.tie;
  const Candidate* vendor = nullptr;
  const Candidate* best = nullptr;
  bool beaten = false;
  for (const Candidate& candidate : candidates) {
    if (!candidate.contends) continue;
    if (candidate.plan.variant == vendor_name) vendor = &candidate;
    const bool fit = candidate.loss <= band && candidate.beats_vendor;
    beaten = beaten || (fit && candidate.loss <= options.tie);
    if (fit && (best == nullptr || preference(candidate) < preference(*best))) best = &candidate;
  }
  if (vendor != nullptr && best != nullptr && vendor->loss <= band &&
      (!fewest_blocks || vendor->plan.blocks <= best->plan.blocks))
    return {vendor, "the vendor is within the tie"};
  if (vendor != nullptr && !beaten)
    return {vendor, vendor->loss > 0 ? "nothing beats the vendor beyond the noise" : "the vendor is fastest",
            vendor->loss > 0};
  if (best == nullptr) return {nullptr, ""};
  if (best->loss == 0) return {best, "fastest"};
  return {best, fewest_blocks ? "fewest blocks within the slack" : "within the tie, with fewer blocks or simpler"};
}

}  // namespace

Excluded::Excluded(const KeyCells& key) {
  for (const SizeCells& size : key.sizes)
    for (const Cell& cell : size.cells) {
      if (cell.status == CellStatus::ok || cell.status == CellStatus::unsupported) continue;
      const bool wrong = cell.status == CellStatus::wrong;
      const bool fresh = wrong ? variants_.insert(cell.plan.variant).second : plans_.insert(cell.plan).second;
      if (fresh)
        reasons_.push_back((wrong ? cell.plan.variant : to_string(cell.plan)) + " is out: " +
                           std::string(name_of(cell.status)) + " at " + std::to_string(size.problem.bytes()) +
                           " bytes" + (cell.reason.empty() ? "" : " (" + cell.reason + ")"));
    }
  for (const SizeCells& size : key.sizes) needs_rivals_ = needs_rivals_ || tried(size) > 1;
  for (const SizeCells& size : key.sizes)
    for (const Cell& cell : size.cells)
      needs_vendor_ = needs_vendor_ || (cell.plan.variant == vendor_name && cell.usable() && !contains(cell.plan));
}

const Candidate* Decision::find(const Plan& plan) const {
  const auto found = std::ranges::find(candidates, plan, &Candidate::plan);
  return found == candidates.end() ? nullptr : &*found;
}

std::optional<Decision> decide(const SizeCells& size, const Excluded& excluded, const FactsOf& facts,
                               const DecisionOptions& options) {
  const std::vector<Eligible> eligible = eligible_of(size, excluded, facts, options);
  Field field{.any_fresh = std::ranges::any_of(eligible, [](const Eligible& one) { return one.cell->fresh; }),
              .confidence = options.confidence};
  field.best = fastest_of(eligible, field.any_fresh, options.confidence);
  if (field.best == nullptr) return std::nullopt;
  for (const Eligible& one : eligible)
    if (one.cell->plan.variant == vendor_name && (field.vendor == nullptr || one.cell->fresh)) field.vendor = &one;
  if (field.vendor == nullptr && excluded.needs_vendor()) return std::nullopt;
  if (tried(size) < 2 && excluded.needs_rivals()) return std::nullopt;

  Decision decision{.problem = size.problem, .bytes = size.problem.bytes()};
  for (const Eligible& one : eligible) decision.candidates.push_back(candidate_of(one, field));
  std::ranges::stable_sort(decision.candidates, {}, &Candidate::loss);
  const Picked picked = pick(decision.candidates, options);
  if (picked.candidate == nullptr) return std::nullopt;
  decision.chosen = picked.candidate->plan;
  decision.why = picked.why;
  decision.in_doubt = picked.in_doubt;
  const Cell& chosen = *size.find(decision.chosen);
  if (field.vendor != nullptr) {
    decision.vendor_us = field.vendor->time.median_us;
    if (field.vendor->cell != &chosen) decision.to_vendor = compare(chosen, *field.vendor->cell, options.confidence);
  }
  for (const Candidate& candidate : decision.candidates)
    if (candidate.plan != decision.chosen && candidate.contends && !decision.runner_up) {
      decision.runner_up = candidate.plan;
      decision.to_runner_up = compare(chosen, *size.find(candidate.plan), options.confidence);
    }
  return decision;
}

}  // namespace attune::tuner
