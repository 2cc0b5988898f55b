#pragma once
/// What every rank of a team does in a sweep: rank 0 leads, the others serve its orders. Decisions are made on rank 0
/// alone; an order names one cell, and all ranks carry it out together.
#include <array>
#include <memory>
#include <optional>

#include "src/measure.h"
#include "src/validate.h"

namespace attune::driver {

enum class OrderKind : std::uint8_t { validate, block, stop, fail };

/// Plain data, sent through the meeting point.
struct Order {
  OrderKind kind = OrderKind::stop;
  Problem problem{};
  std::array<char, 64> variant{};
  int blocks = 1;
  int threads = 1;
  Bytes chunk_bytes = 0;
  int warm_up = 0;
  int calls = 0;
  Status status = Status::success;  ///< OrderKind::fail: why everybody ends,
  std::array<char, 200> text{};     ///< and in words.
};

[[nodiscard]] Order order_for(OrderKind kind, const Problem& problem, const Plan& plan);
[[nodiscard]] Plan plan_of(const Order& order);

class SweepWorker {
 public:
  SweepWorker(SweepTeam& team, Executor& executor, const MeasureOptions& options, std::uint64_t seed);

  [[nodiscard]] SweepTeam& team() { return team_; }
  [[nodiscard]] Executor& executor() { return executor_; }

  /// Rank 0 alone: gives an order to all, itself included.
  void give(const Order& order);
  /// All ranks, with the same order. After a call that timed out or failed the communicator is replaced; Error(timeout)
  /// when that has happened too often.
  [[nodiscard]] CellCheck validate(const Order& order);
  [[nodiscard]] BlockOfSamples block(const Order& order);

  /// The other ranks: carries out orders until `stop`. Throws the error of `fail`.
  void serve();

 private:
  void recover(tuner::CellStatus status, const std::string& reason);

  SweepTeam& team_;
  Executor& executor_;
  Measurer measurer_;
  std::string vendor_fault_{};  ///< Why the vendor is not called any more.
  std::uint64_t seed_;
  std::optional<Problem> validating_;
  std::unique_ptr<Validator> validator_;
};

}  // namespace attune::driver
