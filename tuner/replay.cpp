#include "tuner/replay.h"

#include <algorithm>

namespace attune::tuner {

ReplayRunner::ReplayRunner(std::span<const Record> records, double overhead_s) : overhead_s_(overhead_s) {
  for (const Record& record : records) cells_[{record.problem, record.plan}].push_back(record);
}

std::vector<Measured> ReplayRunner::round(const Problem& problem, std::span<const Plan> plans, int calls_per_plan) {
  const std::size_t round = rounds_[problem]++;
  std::vector<Measured> answers;
  for (const Plan& plan : plans) {
    const auto cell = cells_.find({problem, plan});
    if (cell == cells_.end()) {
      answers.push_back({.status = CellStatus::unsupported, .reason = "not in the journal"});
      continue;
    }
    const Record& record = cell->second[round % cell->second.size()];
    const auto calls = std::min(static_cast<std::size_t>(std::max(calls_per_plan, 0)), record.samples_us.size());
    Measured measured{
        .status = record.status,
        .samples_us = {record.samples_us.begin(), record.samples_us.begin() + static_cast<std::ptrdiff_t>(calls)},
        .rejected = record.rejected,
        .noisy = record.noisy,
        .oversubscribed = record.oversubscribed,
        .clock = record.clock,
        .reason = record.reason,
        .ran = record.ran};
    for (const double sample : measured.samples_us) clock_s_ += sample * 1e-6 + overhead_s_;
    answers.push_back(std::move(measured));
  }
  return answers;
}

}  // namespace attune::tuner
