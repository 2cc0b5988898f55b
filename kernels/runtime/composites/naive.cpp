#include "runtime/composites/naive.h"

#include <vector>

#include "core/partition.h"

namespace attune::host {

void naive_allreduce(HostTeam& team, const AllreduceCall& call) {
  check(call);
  if (call.count == 0) return;
  constexpr Bytes step_bytes = Bytes{1} << 20;
  const Bytes width = size_of(call.dtype);
  const auto ranks = static_cast<std::size_t>(team.size());
  const Bytes stride = std::min(step_bytes, call.count * width);
  std::vector<std::byte> staging(ranks * static_cast<std::size_t>(stride));
  for (const Span part : chunks_of({0, call.count}, step_bytes / width)) {
    const auto bytes = static_cast<std::size_t>(part.count * width);
    AllreduceCall piece = call;
    piece.count = part.count;
    piece.in = static_cast<const std::byte*>(call.in) + part.first * width;
    piece.out = static_cast<std::byte*>(call.out) + part.first * width;
    team.bootstrap().allgather(piece.in, staging.data(), bytes);
    std::array<std::byte*, max_ranks> inputs{};
    for (std::size_t r = 0; r < ranks; ++r) inputs[r] = staging.data() + r * bytes;
    team.reduce_locally(inputs, team.size(), piece, part.first);
  }
}

}  // namespace attune::host
