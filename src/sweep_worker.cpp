#include "src/sweep_worker.h"

namespace attune::driver {

namespace {
constexpr int most_replacements = 4;  ///< Lost communicators are not freed: a machine where all hangs is given up.
}

Order order_for(OrderKind kind, const Problem& problem, const Plan& plan) {
  Order order;
  order.kind = kind;
  order.problem = problem;
  plan.variant.copy(order.variant.data(), order.variant.size() - 1);
  order.blocks = plan.blocks;
  order.threads = plan.threads;
  order.chunk_bytes = plan.chunk_bytes;
  return order;
}

Plan plan_of(const Order& order) {
  return {.variant = order.variant.data(),
          .blocks = order.blocks,
          .threads = order.threads,
          .chunk_bytes = order.chunk_bytes};
}

SweepWorker::SweepWorker(SweepTeam& team, Executor& executor, const MeasureOptions& options, std::uint64_t seed)
    : team_(team), executor_(executor), measurer_(team, executor, options), seed_(seed) {}

void SweepWorker::give(const Order& order) { (void)team_.meeting().from_root(order); }

void SweepWorker::recover(tuner::CellStatus status, const std::string& reason) {
  if (status != tuner::CellStatus::timed_out && status != tuner::CellStatus::failed) return;
  if (team_.replaced() >= most_replacements)
    throw Error(Status::timeout, "too many calls hung or failed in one sweep, the last: " + reason,
                "look into it, then continue with --resume: the cells that hung are skipped");
  team_.replace_communicator();
}

CellCheck SweepWorker::validate(const Order& order) {
  if (!validating_ || *validating_ != order.problem) {
    validator_ = std::make_unique<Validator>(team_, executor_, order.problem, seed_);
    validating_ = order.problem;
  }
  const Plan plan = plan_of(order);
  if (!vendor_fault_.empty()) {
    if (plan.variant == "vendor") return {tuner::CellStatus::failed, vendor_fault_};
    validator_->forget_vendor();
  }
  const CellCheck check = validator_->check(plan);
  recover(check.status, check.reason);
  if (!validator_->vendor_has_failed() && (plan.variant != "vendor" || check.status != tuner::CellStatus::failed))
    return check;
  vendor_fault_ = check.reason;  // it is not called again
  return validate(order);
}

BlockOfSamples SweepWorker::block(const Order& order) {
  BlockOfSamples block = measurer_.block(order.problem, plan_of(order), order.warm_up, order.calls);
  recover(block.status, block.reason);
  return block;
}

void SweepWorker::serve() {
  for (;;) {
    const Order order = team_.meeting().from_root(Order{});
    switch (order.kind) {
      case OrderKind::validate:
        (void)validate(order);
        break;
      case OrderKind::block:
        (void)block(order);
        break;
      case OrderKind::stop:
        return;
      case OrderKind::fail:
        throw Error(order.status, order.text.data());
    }
  }
}

}  // namespace attune::driver
