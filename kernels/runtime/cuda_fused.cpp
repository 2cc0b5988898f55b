/// Launching the fused kernels on cuda: buffers that peers can address in one launch, others through the staging.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "runtime/cuda_team.h"
#include "runtime/digest.h"
#include "runtime/fused_arguments.h"
#include "variants/registry.h"

namespace attune::cuda {

namespace {
constexpr std::int32_t first_fused = 1000;  // as cuda_calls.cpp names them

std::byte* bytes_at(const void* memory, Bytes offset) {
  return static_cast<std::byte*>(const_cast<void*>(memory)) + offset;
}
bool aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; }

std::uint64_t digest_of(const Plan& plan, const NormCall& call, bool staged, Index piece) {
  return host::Digest()
      .add(~static_cast<std::uint64_t>(call.collective))  // no index of an allreduce variant
      .add(static_cast<std::uint64_t>(plan.blocks) << 32 | static_cast<std::uint32_t>(plan.threads))
      .add(static_cast<std::uint64_t>(call.dtype) << 8 | (staged ? 2U : 0U) | (call.residual != nullptr ? 1U : 0U))
      .add(static_cast<std::uint64_t>(call.rows))
      .add(static_cast<std::uint64_t>(call.cols))
      .add(static_cast<std::uint64_t>(piece))
      .add(std::bit_cast<std::uint64_t>(call.norm.epsilon))
      .add(std::bit_cast<std::uint64_t>(call.norm.weight_offset))
      .value();
}

}  // namespace

/// Rows that 16 bytes do not divide are loaded element by element, but every buffer must begin at a pack.
void CudaTeam::fused(const Plan& plan, const NormCall& call) {
  check(call, rank(), size());
  if (call.rows == 0 || call.cols == 0) return;
  if (size() == 1) return normalise_locally(call, call.in, call.rows);
  const DeviceGuard guard(place());
  require_ready(plan);
  const cudaStream_t stream = stream_of(call.stream);
  order_.enter(stream);
  const Bytes bytes = call.rows * call.cols * size_of(call.dtype);
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  const auto reach = [&](const void* memory) { return address_of(memory, bytes, stream).word != 0; };
  if (!everywhere) {
    reach(call.in) && aligned(call.sum) && aligned(call.normalised) ? fused_in_place(plan, call)
                                                                    : fused_staged_scatter(plan, call);
  } else {
    reach(call.in) && reach(call.sum) && reach(call.normalised) ? fused_in_place(plan, call)
                                                                : fused_staged_everywhere(plan, call);
  }
  order_.leave(stream);
}

void CudaTeam::launch_fused(const NormCall& call, Launch& launch) {
  launch.count = launch.rows.mine.count * call.cols;
  this->launch(find_fused_kernel(index_of(call.collective), call.dtype, size()), launch, stream_of(call.stream));
}

void CudaTeam::fused_in_place(const Plan& plan, const NormCall& call) {
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  const Bytes bytes = call.rows * call.cols * size_of(call.dtype);
  const cudaStream_t stream = stream_of(call.stream);
  const auto number = first_fused + static_cast<std::int32_t>(index_of(call.collective));
  Launch launch = start_launch(plan, number, digest_of(plan, call, false, 0));
  launch.in = address_of(call.in, bytes, stream);
  launch.at.in.at[rank()] = bytes_at(call.in, 0);
  launch.at.out.at[rank()] = bytes_at(call.sum, 0);
  launch.at.second_out.at[rank()] = bytes_at(call.normalised, 0);
  launch.rows = arguments_of(call);
  launch.rows.mine = rows_of(call.rows, rank(), size());
  launch.rows.origin = everywhere ? 0 : launch.rows.mine.first;
  if (everywhere) {
    launch.out = address_of(call.sum, bytes, stream);
    launch.second_out = address_of(call.normalised, bytes, stream);
  }
  launch_fused(call, launch);
}

/// Slice k is the k-th run of rows of every rank's shard, so that each slice keeps all ranks busy; staged one shard
/// after the other. Results are staged too, because a slice of them need not begin at a pack.
void CudaTeam::fused_staged_scatter(const Plan& plan, const NormCall& call) {
  const Bytes row_bytes = call.cols * size_of(call.dtype);
  const Bytes half = options_.scratch_bytes / 2 / 16 * 16;
  const Index step = rows_that_fit(call, row_bytes * size(), half);
  const Index longest = rows_of(call.rows, 0, size()).count;
  const cudaStream_t stream = stream_of(call.stream);
  const auto number = first_fused + static_cast<std::int32_t>(index_of(call.collective));
  for (Index done = 0; done < longest; done += step) {
    Launch launch = start_launch(plan, number, digest_of(plan, call, true, done));
    std::byte* local = nullptr;
    launch.in = staging(Region::inbox, 0, &local);
    launch.at.in.at[rank()] = local;
    launch.rows = arguments_of(call);
    for (int owner = 0; owner < size(); ++owner) {
      const Span shard = rows_of(call.rows, owner, size());
      const Index rows = std::clamp<Index>(shard.count - done, 0, step);
      if (rows > 0)
        copy(local + owner * step * row_bytes, bytes_at(call.in, (shard.first + done) * row_bytes), rows * row_bytes,
             stream);
      if (owner == rank()) launch.rows.mine = {owner * step, rows};
    }
    launch.rows.origin = launch.rows.mine.first;
    std::byte* const results = region(rank(), Region::outputs);
    launch.at.out.at[rank()] = results;
    launch.at.second_out.at[rank()] = results + half;
    const Bytes bytes = launch.rows.mine.count * row_bytes;
    launch_fused(call, launch);
    if (bytes == 0) continue;
    copy(bytes_at(call.sum, done * row_bytes), results, bytes, stream);
    copy(bytes_at(call.normalised, done * row_bytes), results + half, bytes, stream);
  }
}

void CudaTeam::fused_staged_everywhere(const Plan& plan, const NormCall& call) {
  const Bytes row_bytes = call.cols * size_of(call.dtype);
  const Bytes half = options_.scratch_bytes / 2 / 16 * 16;  // of the region of outputs: the sum, the normalised rows
  const Index step = rows_that_fit(call, row_bytes, half);
  const cudaStream_t stream = stream_of(call.stream);
  const auto number = first_fused + static_cast<std::int32_t>(index_of(call.collective));
  for (const Span rows : chunks_of({0, call.rows}, step)) {
    const Bytes at = rows.first * row_bytes;
    const Bytes bytes = rows.count * row_bytes;
    Launch launch = start_launch(plan, number, digest_of(plan, call, true, rows.first));
    std::byte *in = nullptr, *sum = nullptr, *normalised = nullptr;
    launch.in = staging(Region::inbox, 0, &in);
    launch.out = staging(Region::outputs, 0, &sum);
    launch.second_out = staging(Region::outputs, half, &normalised);
    copy(in, bytes_at(call.in, at), bytes, stream);
    launch.at.in.at[rank()] = in;
    launch.at.out.at[rank()] = sum;
    launch.at.second_out.at[rank()] = normalised;
    launch.rows = arguments_of(call);
    if (call.residual != nullptr) {  // no peer reads it, but the kernel loads it in packs
      std::byte* const residual = region(rank(), Region::input);
      copy(residual, bytes_at(call.residual, at), bytes, stream);
      launch.rows.residual = residual;
    }
    launch.rows.mine = rows_of(rows.count, rank(), size());
    launch_fused(call, launch);
    copy(bytes_at(call.sum, at), sum, bytes, stream);
    copy(bytes_at(call.normalised, at), normalised, bytes, stream);
  }
}

void CudaTeam::normalise_locally(const NormCall& call, const void* in, Index rows) {
  if (rows == 0 || call.cols == 0) return;
  const DeviceGuard guard(place());
  const cudaStream_t stream = stream_of(call.stream);
  const Bytes bytes = rows * call.cols * size_of(call.dtype);
  if (!aligned(in) || !aligned(call.sum) || !aligned(call.normalised))
    throw Error(Status::unsupported, "a buffer does not begin at a multiple of 16 bytes", "align it");
  order_.enter(stream);
  Launch launch;
  launch.count = rows * call.cols;
  launch.at.in.at[0] = bytes_at(in, 0);
  launch.at.out.at[0] = bytes_at(call.sum, 0);
  launch.at.second_out.at[0] = bytes_at(call.normalised, 0);
  launch.rows = arguments_of(call);
  launch.rows.mine = {0, rows};
  launch_local(local_norm_kernel(call.dtype), launch, bytes, stream);
  order_.leave(stream);
}

}  // namespace attune::cuda
