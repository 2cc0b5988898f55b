/// Launching the fused kernels: registered buffers in one launch, others row by row through the team's scratch.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "runtime/digest.h"
#include "runtime/fused_arguments.h"
#include "runtime/host_registry.h"
#include "runtime/host_team.h"
#include "variants/registry.h"

namespace attune::host {

namespace {

std::byte* bytes_at(const void* memory, Bytes offset) {
  return static_cast<std::byte*>(const_cast<void*>(memory)) + offset;
}

std::uint64_t digest_of(const Plan& plan, const NormCall& call, bool staged, Index piece) {
  return Digest()
      .add(~static_cast<std::uint64_t>(call.collective))  // no index of an allreduce variant
      .add(static_cast<std::uint64_t>(plan.blocks))
      .add(static_cast<std::uint64_t>(call.dtype) << 8 | (staged ? 2U : 0U) | (call.residual != nullptr ? 1U : 0U))
      .add(static_cast<std::uint64_t>(call.rows))
      .add(static_cast<std::uint64_t>(call.cols))
      .add(static_cast<std::uint64_t>(piece))
      .add(std::bit_cast<std::uint64_t>(call.norm.epsilon))
      .add(std::bit_cast<std::uint64_t>(call.norm.weight_offset))
      .value();
}

Launch start_launch(const Plan& plan, const NormCall& call, bool staged, Index piece) {
  Launch launch;
  launch.variant = name_of(call.collective);
  launch.blocks = plan.blocks;
  launch.digest = digest_of(plan, call, staged, piece);
  return launch;
}

}  // namespace

void HostTeam::fused(const Plan& plan, const NormCall& call) {
  check(call, rank(), size());
  if (plan.blocks < 1 || plan.blocks > max_blocks)
    throw Error(Status::usage, fmt::format("plan: blocks is {}", plan.blocks), fmt::format("use 1 to {}", max_blocks));
  if (call.rows == 0 || call.cols == 0) return;
  if (size() == 1) return normalise_locally(call, call.in, call.rows);
  const Bytes bytes = call.rows * call.cols * size_of(call.dtype);
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  const bool can_reach = registered(call.in, bytes) &&
                         (!everywhere || (registered(call.sum, bytes) && registered(call.normalised, bytes)));
  if (can_reach) return fused_registered(plan, call);
  return everywhere ? fused_staged_everywhere(plan, call) : fused_staged_scatter(plan, call);
}

void HostTeam::launch_fused(const NormCall& call, RowArguments& arguments, Launch& launch) {
  launch.extra = &arguments;
  const FusedTable& table = fused_kernels(index_of(call.collective));
  const auto d = static_cast<std::size_t>(call.dtype);
  this->launch(size() == 2 ? table.two[d] : table.any[d], launch);
}

void HostTeam::fused_registered(const Plan& plan, const NormCall& call) {
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  const Bytes bytes = call.rows * call.cols * size_of(call.dtype);
  Launch launch = start_launch(plan, call, false, 0);
  launch.in = address_of(call.in, bytes);
  launch.local_in = bytes_at(call.in, 0);
  launch.local_out = bytes_at(call.sum, 0);
  launch.local_second_out = bytes_at(call.normalised, 0);
  RowArguments arguments = arguments_of(call);
  arguments.mine = rows_of(call.rows, rank(), size());
  arguments.origin = everywhere ? 0 : arguments.mine.first;
  if (everywhere) {
    launch.out = address_of(call.sum, bytes);
    launch.second_out = address_of(call.normalised, bytes);
  }
  launch_fused(call, arguments, launch);
}

/// Slice k is the k-th run of rows of every rank's shard, so that each slice keeps all ranks busy; staged one shard
/// after the other.
void HostTeam::fused_staged_scatter(const Plan& plan, const NormCall& call) {
  const Bytes row_bytes = call.cols * size_of(call.dtype);
  const Index step = rows_that_fit(call, row_bytes * size(), options_.scratch_bytes);
  const Index longest = rows_of(call.rows, 0, size()).count;
  for (Index done = 0; done < longest; done += step) {
    Launch launch = start_launch(plan, call, true, done);
    launch.in = staging(Region::inbox, 0, &launch.local_in);
    RowArguments arguments = arguments_of(call);
    for (int owner = 0; owner < size(); ++owner) {
      const Span shard = rows_of(call.rows, owner, size());
      const Index rows = std::clamp<Index>(shard.count - done, 0, step);
      if (rows > 0)
        std::memcpy(launch.local_in + owner * step * row_bytes, bytes_at(call.in, (shard.first + done) * row_bytes),
                    static_cast<std::size_t>(rows * row_bytes));
      if (owner == rank()) arguments.mine = {owner * step, rows};
    }
    arguments.origin = arguments.mine.first;
    const Bytes at = std::min(done, rows_of(call.rows, rank(), size()).count) * row_bytes;
    launch.local_out = bytes_at(call.sum, at);
    launch.local_second_out = bytes_at(call.normalised, at);
    launch_fused(call, arguments, launch);
  }
}

void HostTeam::fused_staged_everywhere(const Plan& plan, const NormCall& call) {
  const Bytes row_bytes = call.cols * size_of(call.dtype);
  const Bytes half = options_.scratch_bytes / 2;  // of the region of outputs: the sum, then the normalised rows
  const Index step = rows_that_fit(call, row_bytes, half);
  for (const Span rows : chunks_of({0, call.rows}, step)) {
    const Bytes at = rows.first * row_bytes;
    const auto bytes = static_cast<std::size_t>(rows.count * row_bytes);
    Launch launch = start_launch(plan, call, true, rows.first);
    launch.in = staging(Region::inbox, 0, &launch.local_in);
    launch.out = staging(Region::outputs, 0, &launch.local_out);
    launch.second_out = staging(Region::outputs, half, &launch.local_second_out);
    std::memcpy(launch.local_in, bytes_at(call.in, at), bytes);
    RowArguments arguments = arguments_of(call);
    if (call.residual != nullptr) arguments.residual = bytes_at(call.residual, at);
    arguments.mine = rows_of(rows.count, rank(), size());
    launch_fused(call, arguments, launch);
    std::memcpy(bytes_at(call.sum, at), launch.local_out, bytes);
    std::memcpy(bytes_at(call.normalised, at), launch.local_second_out, bytes);
  }
}

void HostTeam::normalise_locally(const NormCall& call, const void* in, Index rows) {
  if (rows == 0 || call.cols == 0) return;
  Launch launch;
  launch.variant = "local_rms_norm";
  launch.counters = counters_.get();
  launch.local_in = bytes_at(in, 0);
  launch.local_out = bytes_at(call.sum, 0);
  launch.local_second_out = bytes_at(call.normalised, 0);
  RowArguments arguments = arguments_of(call);
  arguments.mine = {0, rows};
  launch.extra = &arguments;
  local_norm_kernels().any[static_cast<std::size_t>(call.dtype)](launch, 0);
}

}  // namespace attune::host
