#include "runtime/composites/cuda_naive.h"

namespace attune::cuda {

/// The staging, once. Throws on all ranks when one has no room for it.
void Naive::prepare(CudaTeam& team) {
  const auto ranks = static_cast<Bytes>(team.size());
  const std::string fault = attempt([&] {
    if (mine_.get() != nullptr) return;
    all_ = PinnedMemory(ranks * step_bytes, team.place());
    inputs_ = DeviceMemory(ranks * step_bytes, team.place());
    mine_ = PinnedMemory(step_bytes, team.place());
  });
  throw_together(team.bootstrap(), fault, "use smaller buffers");
}

/// `bytes` of every rank's input at `from`, in this rank's device memory: to the host, through messages, and back.
std::array<std::byte*, max_ranks> Naive::gather(CudaTeam& team, const std::byte* from, Bytes bytes,
                                                cudaStream_t stream) {
  const auto copy = [&](void* to, const void* at, Bytes length) {
    check_cuda(cudaMemcpyAsync(to, at, static_cast<std::size_t>(length), cudaMemcpyDefault, stream), "cudaMemcpyAsync",
               team.place());
  };
  const std::string fault = attempt([&] {
    copy(mine_.get(), from, bytes);
    team.wait(stream);
  });
  throw_together(team.bootstrap(), fault, {});
  team.bootstrap().allgather(mine_.get(), all_.get(), static_cast<std::size_t>(bytes));
  std::array<std::byte*, max_ranks> inputs{};
  for (int r = 0; r < team.size(); ++r) {
    inputs[static_cast<std::size_t>(r)] = inputs_.get() + r * step_bytes;
    copy(inputs_.get() + r * step_bytes, all_.get() + r * bytes, bytes);
  }
  return inputs;
}

void Naive::allreduce(CudaTeam& team, const AllreduceCall& call) {
  if (call.count == 0) return;
  const DeviceGuard guard(team.place());
  const cudaStream_t stream = team.stream_of(call.stream);
  if (capture_of(stream, team.place()) != 0)
    throw Error(Status::unsupported, "naive: waits for messages of the host, which a graph cannot hold",
                "use another variant in graphs");
  prepare(team);
  const Bytes width = size_of(call.dtype);
  team.order().enter(stream);
  for (const Span part : chunks_of({0, call.count}, step_bytes / width)) {
    const Bytes at = part.first * width;
    AllreduceCall piece = call;
    piece.count = part.count;
    piece.out = static_cast<std::byte*>(call.out) + at;
    const auto inputs = gather(team, static_cast<const std::byte*>(call.in) + at, part.count * width, stream);
    team.reduce_locally(inputs, team.size(), piece, part.first);
    team.wait(stream);  // the pinned memory is used again
  }
  team.order().leave(stream);
}

}  // namespace attune::cuda
