#pragma once
/// One allreduce of a team: what it is, its launches, and whether what came out is right to the bit.
#include <string>

#include "content.h"
#include "team.h"

namespace attune::emulated {

struct Call {
  std::size_t variant = 0;  ///< in variant_table
  conformance::Content content;
  Index count = 0;
  Index chunk = 1;
  int blocks = 1;
  int threads = 32;
  bool in_place = false;
  bool by_record = false;
  EpilogueKind epilogue = EpilogueKind::none;

  [[nodiscard]] Bytes bytes() const { return count * size_of(content.dtype); }
};
[[nodiscard]] std::string describe(const Call& call);

/// A call on its way: what its ranks copied out, and the operand of its epilogue.
struct Pending {
  Call call;
  std::vector<std::unique_ptr<PinnedBytes>> results;  ///< by rank, with 64 bytes behind the output
  std::unique_ptr<DeviceBytes> operand;
};
inline constexpr Index operand_cols = 7;

/// Enqueues everything: inputs, launches on all ranks, copies of the outputs, then inputs are overwritten. Waits for
/// nothing.
[[nodiscard]] Pending enqueue(const Team& team, const Call& call);
/// The launch alone, as enqueue makes it.
[[nodiscard]] cuda::Launch launch_of(const Team& team, int rank, const Call& call, const std::byte* operand);
/// After the streams have been synchronised: empty, or what is wrong.
[[nodiscard]] std::string faults_of(const Team& team, const Pending& pending);
[[nodiscard]] cuda::KernelEntry kernel_of(const Call& call);

}  // namespace attune::emulated
