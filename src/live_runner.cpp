#include "src/live_runner.h"

#include <algorithm>
#include <numeric>

#include "runtime/vendor_log.h"
#include "tuner/imports/nccl_log.h"

namespace attune::driver {

namespace {
constexpr int first_warm_up = 10;     ///< Lazy connections and page faults of a cell's first block.
constexpr double slow_call_us = 5e4;  ///< Calls of this length need no more than one.
constexpr int attempts = 4;           ///< Blocks in which every call was refused are repeated so often.
constexpr double noisy_share = 0.2;
}  // namespace

LiveRunner::LiveRunner(SweepWorker& worker, std::uint64_t seed, Note note)
    : worker_(worker), random_(seed), note_(std::move(note)) {}

double LiveRunner::now_s() { return static_cast<double>(now_ns()) * 1e-9 - uncounted_s_; }

CellCheck LiveRunner::validate(const Problem& problem, const Plan& plan) {
  const Order order = order_for(OrderKind::validate, problem, plan);
  in_order_ = true;
  worker_.give(order);
  CellCheck check = worker_.validate(order);
  in_order_ = false;
  return check;
}

BlockOfSamples LiveRunner::block(const Problem& problem, const Plan& plan, int warm_up, int calls) {
  Order order = order_for(OrderKind::block, problem, plan);
  order.warm_up = warm_up;
  order.calls = calls;
  in_order_ = true;
  worker_.give(order);
  BlockOfSamples block = worker_.block(order);
  in_order_ = false;
  return block;
}

/// Validation is not timed: the library may write its log then.
LiveRunner::Known LiveRunner::validate_and_listen(const Problem& problem, const Plan& plan) {
  const bool tells = worker_.team().on_gpus() && (plan.variant == "vendor" || plan.variant.starts_with("vendor:"));
  if (!tells) return {.check = validate(problem, plan)};
  const cuda::VendorLog log;
  Known known{.check = validate(problem, plan)};
  known.ran = tuner::ran_by_nccl(log.text());
  return known;
}

/// Validation, then the calls that are slow because they are the first.
const LiveRunner::Known& LiveRunner::validated(const Problem& problem, const Plan& plan) {
  const auto key = std::pair(problem, plan);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (note_) note_(problem, plan);
  const std::int64_t begin = now_ns();
  Known known = validate_and_listen(problem, plan);
  CellCheck& check = known.check;
  if (check.status == tuner::CellStatus::ok) {
    const BlockOfSamples first = block(problem, plan, 0, 1);
    check = {first.status, first.reason};
    const auto& times = first.accepted_us.empty() ? first.refused_us : first.accepted_us;
    known.slow = check.status == tuner::CellStatus::ok && times.front() >= slow_call_us;
    if (check.status == tuner::CellStatus::ok && !known.slow) {
      const BlockOfSamples rest = block(problem, plan, first_warm_up - 1, 0);
      check = {rest.status, rest.reason};
    }
  }
  if (!counts_setup_) uncounted_s_ += static_cast<double>(now_ns() - begin) * 1e-9;
  return known_.emplace(key, std::move(known)).first->second;
}

tuner::Measured LiveRunner::measure(const Problem& problem, const Plan& plan, int calls) {
  tuner::Measured measured;
  auto& [check, ran, slow] = known_.at({problem, plan});
  measured.ran = ran;
  measured.oversubscribed = worker_.team().oversubscribed(plan.blocks);
  if (note_ && check.status == tuner::CellStatus::ok) note_(problem, plan);
  std::vector<double> refused;
  std::vector<cuda::ClockSample> clocks;
  for (int attempt = 0; check.status == tuner::CellStatus::ok && measured.samples_us.empty() && attempt < attempts;
       ++attempt) {
    // One untimed: the cell before it is in the caches.
    BlockOfSamples block = this->block(problem, plan, slow ? 0 : 1, calls);
    check = {block.status, block.reason};
    measured.samples_us = std::move(block.accepted_us);
    refused.insert(refused.end(), block.refused_us.begin(), block.refused_us.end());
    clocks.insert(clocks.end(), block.clocks.begin(), block.clocks.end());
  }
  measured.status = check.status;
  measured.reason = check.reason;
  measured.rejected = static_cast<int>(refused.size());
  measured.clock = clock_of(clocks);
  if (check.status != tuner::CellStatus::ok) {
    measured.samples_us.clear();
    return measured;
  }
  if (measured.samples_us.empty()) {  // better noisy times than none
    measured.samples_us = std::move(refused);
    measured.noisy = true;
  }
  measured.noisy = measured.noisy || measured.rejected > noisy_share * (measured.rejected + calls);
  return measured;
}

std::vector<tuner::Measured> LiveRunner::round(const Problem& problem, std::span<const Plan> plans,
                                               int calls_per_plan) {
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<double> setup_s(plans.size());
  for (const std::size_t i : order) {
    const double start_s = now_s();
    (void)validated(problem, plans[i]);
    setup_s[i] = now_s() - start_s;
  }
  std::vector<tuner::Measured> all(plans.size());
  for (const std::size_t i : order) {
    all[i] = measure(problem, plans[i], calls_per_plan);
    all[i].setup_s = setup_s[i];
  }
  return all;
}

}  // namespace attune::driver
