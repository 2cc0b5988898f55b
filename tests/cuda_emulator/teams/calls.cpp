#include "calls.h"

namespace attune::emulated {
namespace {

std::vector<std::byte> operand_of(const Call& call) {
  std::vector<std::byte> operand(static_cast<std::size_t>(operand_cols * size_of(call.content.dtype)));
  conformance::fill_operand(call.content, operand_cols, operand.data());
  return operand;
}
conformance::Content content_of(const Call& call) { return call.content; }

}  // namespace

std::string describe(const Call& call) {
  return std::string(variant_table[call.variant].name) + " " + std::string(name_of(call.content.dtype)) + " " +
         std::string(name_of(call.content.op)) + " ranks=" + std::to_string(call.content.ranks) +
         " count=" + std::to_string(call.count) + " chunk=" + std::to_string(call.chunk) +
         " blocks=" + std::to_string(call.blocks) + " threads=" + std::to_string(call.threads) +
         (call.in_place ? " in place" : "") + (call.by_record ? " by record" : "") +
         " epilogue=" + std::string(name_of(call.epilogue));
}

cuda::KernelEntry kernel_of(const Call& call) {
  return cuda::find_kernel(call.variant, call.content.dtype, call.content.ranks);
}

cuda::Launch launch_of(const Team& team, int rank, const Call& call, const std::byte* operand) {
  cuda::Launch launch = team.launch_of(rank, call.by_record, call.in_place);
  launch.blocks = call.blocks;
  launch.threads = call.threads;
  launch.count = call.count;
  launch.chunk = call.chunk;
  launch.op = call.content.op;
  launch.variant = static_cast<std::int32_t>(call.variant);
  launch.epilogue.kind = call.epilogue;
  launch.epilogue.divisor = call.content.op == Op::avg ? call.content.ranks : 1;
  launch.epilogue.operand = operand;
  launch.epilogue.cols = operand_cols;
  launch.digest = static_cast<std::uint64_t>(call.count) * 31 + call.variant;
  return launch;
}

Pending enqueue(const Team& team, const Call& call) {
  Pending pending{call, {}, nullptr};
  const auto operand = operand_of(call);
  pending.operand = std::make_unique<DeviceBytes>(operand.size());
  check(cudaMemcpy(pending.operand->data(), operand.data(), operand.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  const auto bytes = static_cast<std::size_t>(call.bytes());
  for (int rank = 0; rank < team.size(); ++rank) {
    TeamRank& mine = team[rank];
    std::vector<std::byte> input(bytes);
    conformance::fill(content_of(call), rank, call.count, input.data());
    check(cudaMemsetAsync(mine.out.data(), 0xCD, mine.out.bytes(), mine.stream), "cudaMemsetAsync");
    check(cudaMemcpyAsync(mine.in.data(), input.data(), bytes, cudaMemcpyHostToDevice, mine.stream), "cudaMemcpyAsync");
    Team::run(kernel_of(call), launch_of(team, rank, call, pending.operand->data()), mine.stream);
    pending.results.push_back(std::make_unique<PinnedBytes>(bytes + 64));
    const std::byte* out = call.in_place ? mine.in.data() : mine.out.data();
    check(cudaMemcpyAsync(pending.results.back()->data(), out, bytes + 64, cudaMemcpyDeviceToHost, mine.stream),
          "cudaMemcpyAsync");
    check(cudaMemsetAsync(mine.in.data(), 0x5E, bytes, mine.stream), "cudaMemsetAsync");
  }
  return pending;
}

std::string faults_of(const Team& team, const Pending& pending) {
  const Call& call = pending.call;
  const auto operand = operand_of(call);
  const EpilogueSpec epilogue{call.epilogue, 1, operand.data(), operand_cols};
  const auto bytes = static_cast<std::size_t>(call.bytes());
  std::vector<std::byte> want(bytes);
  conformance::rank_order_result(content_of(call), epilogue, call.count, want.data());
  for (int rank = 0; rank < team.size(); ++rank) {
    const auto& failure = team[rank].failed();
    if (failure.kind != cuda::FailureKind::none)
      return "rank " + std::to_string(rank) + " has given up waiting for rank " + std::to_string(failure.peer);
    const std::byte* got = pending.results[static_cast<std::size_t>(rank)]->data();
    auto error = conformance::compare_bits(call.content.dtype, got, want.data(), call.count);
    for (std::size_t k = bytes; k < bytes + 64 && error.empty() && !call.in_place; ++k)
      if (got[k] != std::byte{0xCD}) error = "written behind the output";
    if (!error.empty()) return "rank " + std::to_string(rank) + ": " + error + "\n  " + describe(call);
  }
  return {};
}

}  // namespace attune::emulated
