/// Launching one allreduce: pieces, staging, addresses, and what a kernel recorded when it failed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "runtime/cuda_team.h"
#include "runtime/digest.h"
#include "variants/registry.h"

namespace attune::cuda {

namespace {
constexpr Bytes pack_bytes = 16;
constexpr Bytes default_chunk_bytes = Bytes{256} << 10;
constexpr Bytes largest_chunk_bytes = Bytes{1} << 40;
constexpr std::int32_t first_fused = 1000;  ///< Launch::variant of fused kernels.
constexpr int local_threads = 256;

bool aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % pack_bytes == 0; }

std::uint64_t digest_of(std::size_t variant, const Plan& plan, const AllreduceCall& call, Span piece) {
  return host::Digest()
      .add(variant)
      .add(static_cast<std::uint64_t>(plan.blocks) << 32 | static_cast<std::uint32_t>(plan.threads))
      .add(static_cast<std::uint64_t>(plan.chunk_bytes))
      .add(static_cast<std::uint64_t>(call.dtype) << 16 | static_cast<std::uint64_t>(call.op) << 8 |
           static_cast<std::uint64_t>(call.epilogue.kind))
      .add(static_cast<std::uint64_t>(call.count))
      .add(static_cast<std::uint64_t>(piece.first))
      .add(static_cast<std::uint64_t>(piece.count))
      .value();
}

EpilogueArguments epilogue_of(const AllreduceCall& call, int ranks, Index base) {
  const auto& spec = call.epilogue;
  return {spec.kind, call.op == Op::avg ? ranks : 1, spec.scale, spec.operand, spec.cols, base};
}

std::byte* bytes_at(const void* memory, Bytes offset) {
  return static_cast<std::byte*>(const_cast<void*>(memory)) + offset;
}

std::string text_of(const Failure& failure) {
  const std::string what = failure.in_band != 0 ? "in-band launch" : "epoch";
  return fmt::format("{}: block {} of rank {} waits for rank {}, expected {} {}, saw {}",
                     name_of_launch(failure.variant), failure.block, failure.rank, failure.peer, what, failure.expected,
                     failure.seen);
}
}  // namespace

std::string name_of_launch(std::int32_t variant) {
  const auto index = static_cast<std::size_t>(variant);
  if (variant >= 0 && index < variant_table.size()) return std::string(variant_table[index].name);
  const auto fused = static_cast<std::size_t>(variant - first_fused);
  if (variant >= first_fused && fused < fused_table.size()) return std::string(fused_table[fused].name);
  return "a local kernel";
}

void CudaTeam::check_failure() {
  auto& failure = *reinterpret_cast<Failure*>(failure_.get());
  const auto kind = std::atomic_ref(failure.kind).load(std::memory_order_acquire);  // written last, by the GPU
  if (kind == FailureKind::none) {
    if (lost_) throw Error(Status::internal, "this communicator has failed before", "make a new one on all ranks");
    return;
  }
  lose();
  switch (kind) {
    case FailureKind::timeout:
      throw Error(Status::timeout, fmt::format("timeout after {:g} s in {}", options_.timeout_s, text_of(failure)),
                  "is that rank alive and in the same call? ATTUNE_TIMEOUT_S sets the limit");
    case FailureKind::mismatch:
      throw Error(Status::usage,
                  fmt::format("rank {} and rank {} made different calls (count, dtype, op, plan, epilogue or kind of "
                              "memory; here: {})",
                              failure.rank, failure.peer, name_of_launch(failure.variant)),
                  "every rank must make the same calls in the same order with the same table");
    case FailureKind::peer_failed:
      throw Error(Status::internal,
                  fmt::format("rank {} waited for rank {}, which has failed", failure.rank, failure.peer),
                  "see the error of that rank");
    case FailureKind::unregistered:
      throw Error(Status::usage,
                  fmt::format("{}: rank {} launched a graph whose buffers rank {} cannot address yet",
                              name_of_launch(failure.variant), failure.peer, failure.rank),
                  "call Communicator::complete_capture on all ranks between the capture and the first launch");
    default:
      throw Error(Status::internal, "a kernel failed in " + text_of(failure), "report this");
  }
}

void CudaTeam::require_ready(const Plan& plan) {
  check_failure();
  if (!why_no_peers_.empty())
    throw Error(Status::unsupported, plan.variant + ": no peer access: " + why_no_peers_, "use naive or vendor");
  if (plan.blocks < 1 || plan.blocks > max_blocks)
    throw Error(Status::usage, fmt::format("plan: blocks is {}", plan.blocks), fmt::format("use 1 to {}", max_blocks));
  if (plan.threads < min_threads || plan.threads > max_threads || plan.threads % 32 != 0)
    throw Error(Status::usage, fmt::format("plan: threads is {}", plan.threads),
                fmt::format("use a multiple of 32, up to {}", max_threads));
}

void CudaTeam::copy(void* to, const void* from, Bytes bytes, cudaStream_t stream) {
  check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream), "cudaMemcpyAsync",
             place());
}

SymmetricAddress CudaTeam::staging(Region which, Bytes offset, std::byte** local) const {
  *local = region(rank(), which) + offset;
  return SymmetricAddress::make(0, static_cast<std::uint64_t>(*local - own_.get()));
}

SymmetricAddress CudaTeam::address_of(const void* memory, Bytes bytes, cudaStream_t stream) {
  if (!aligned(memory)) return {};
  if (const SymmetricAddress known = segments_.find(memory, bytes); known.word != 0) return known;
  if (!options_.register_captured || capture_of(stream, place()) == 0) return {};
  if (!bootstrap_->one_process() && !allocation_of(memory, "the buffer", place()).why_private.empty()) return {};
  return segments_.reserve(memory, bytes);
}

Launch CudaTeam::start_launch(const Plan& plan, std::int32_t variant, std::uint64_t digest) const {
  Launch launch;
  launch.rank = rank();
  launch.ranks = size();
  launch.blocks = plan.blocks;
  launch.threads = plan.threads;
  launch.variant = variant;
  launch.digest = digest;
  launch.segment = segments_.table();
  for (int r = 0; r < size(); ++r) {
    launch.control[r] = reinterpret_cast<Control*>(segments_.own(r));
    launch.at.scratch.at[r] = region(r, Region::scratch);
    launch.at.inbox.at[r] = region(r, Region::inbox);
  }
  launch.counters = reinterpret_cast<Counters*>(counters_.get());
  launch.failure = reinterpret_cast<Failure*>(failure_.on_device());
  launch.timeout_ns = static_cast<std::uint64_t>(options_.timeout_s * 1e9);
  return launch;
}

void CudaTeam::launch(const KernelEntry& kernel, Launch& launch, cudaStream_t stream) {
  if (kernel.function == nullptr)
    throw Error(Status::unsupported,
                fmt::format("{}: there is no kernel of it for cuda", name_of_launch(launch.variant)),
                "use another variant or dtype");
  launch.threads = std::min(launch.threads, kernel.max_threads);  // of kernels that need more registers than others
  if (launch.ranks > 1) launch.blocks = std::min(launch.blocks, co_resident(kernel, launch.threads));
  launch.number = launches_++;
  void* arguments[] = {&launch};
  check_cuda(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(launch.blocks)),
                              dim3(static_cast<unsigned>(launch.threads)), arguments, 0, stream),
             "cudaLaunchKernel", place());
}

/// Elements of a pipelining step, in whole packs. Slots must fit in a region; their number is equal on all ranks.
Index CudaTeam::chunk_elements(const Traits& traits, const Plan& plan, DType dtype) const {
  Bytes bytes = std::min(plan.chunk_bytes > 0 ? plan.chunk_bytes : default_chunk_bytes, largest_chunk_bytes);
  if (traits.needs == Needs::peer_slots) {
    const Bytes of_block = options_.scratch_bytes / (3 * plan.blocks) / pack_bytes * pack_bytes;
    const Bytes rounding = (size() - 1) * pack_bytes;  // shards are whole packs: a slot may be larger
    bytes = std::min(bytes, std::max(of_block - rounding, pack_bytes));
  }
  return (bytes + pack_bytes - 1) / pack_bytes * pack_bytes / size_of(dtype);
}

/// How many elements go in one launch. Only buffers that need no staging go beyond the scratch in one, so that this is
/// equal on all ranks where the kind of memory is; where it is not, the digests differ.
Index CudaTeam::piece_elements(std::size_t variant, const AllreduceCall& call) const {
  const Traits& traits = variant_table[variant].traits;
  const Bytes width = size_of(call.dtype);
  const Bytes bytes = call.count * width;
  const Bytes room = options_.scratch_bytes / width;
  if (traits.max_bytes > 0) return std::min(traits.max_bytes, options_.scratch_bytes) / width;
  if (traits.needs == Needs::peer_slots) return aligned(call.in) && aligned(call.out) ? call.count : room;
  const bool direct = aligned(call.in) && aligned(call.out) && traits.needs != Needs::peer_inboxes &&
                      segments_.find(call.in, bytes).word != 0 && segments_.find(call.out, bytes).word != 0 &&
                      !(call.in == call.out && traits.in_place == InPlace::unsafe);
  const bool fits = variant_table[variant].scratch(size(), bytes) <= options_.scratch_bytes;
  return direct && fits ? call.count : room;
}

void CudaTeam::allreduce(std::size_t variant, const Plan& plan, const AllreduceCall& call) {
  check(call);
  if (call.count == 0) return;
  if (size() == 1) return reduce_locally({bytes_at(call.in, 0)}, 1, call);
  const DeviceGuard guard(place());
  require_ready(plan);
  const cudaStream_t stream = stream_of(call.stream);
  order_.enter(stream);
  for (const Span piece : chunks_of({0, call.count}, piece_elements(variant, call)))
    run_piece(variant, plan, call, piece);
  order_.leave(stream);
}

/// The switch works on one offset of all ranks' memory: where the ranks' buffers differ, the digests do.
void CudaTeam::name_multicast(Launch& launch) const {
  launch.multicast_in = segments_.multicast(launch.in);
  launch.multicast_out = segments_.multicast(launch.out);
  if (launch.multicast_in == nullptr || launch.multicast_out == nullptr)
    launch.multicast_in = launch.multicast_out = nullptr;
  const bool used = launch.multicast_in != nullptr;
  launch.digest =
      host::Digest().add(launch.digest).add(used ? launch.in.word : 0).add(used ? launch.out.word : 0).value();
}

void CudaTeam::run_piece(std::size_t variant, const Plan& plan, const AllreduceCall& call, Span piece) {
  const Traits& traits = variant_table[variant].traits;
  const Bytes width = size_of(call.dtype);
  const Bytes bytes = piece.count * width;
  const cudaStream_t stream = stream_of(call.stream);
  std::byte* in = bytes_at(call.in, piece.first * width);
  std::byte* const out = bytes_at(call.out, piece.first * width);
  std::byte* result = out;
  Launch launch = start_launch(plan, static_cast<std::int32_t>(variant), digest_of(variant, plan, call, piece));
  launch.count = piece.count;
  launch.chunk = chunk_elements(traits, plan, call.dtype);
  launch.op = call.op;
  launch.epilogue = epilogue_of(call, size(), piece.first);
  const bool in_switch = traits.needs == Needs::multimem;
  const bool private_in = !reads_peer_inputs(traits.needs) && !in_switch;
  const bool private_out = !uses_peer_outputs(traits.needs) && !in_switch;
  if (!private_in && !(in == out && traits.in_place == InPlace::unsafe)) launch.in = address_of(in, bytes, stream);
  if (!private_out) launch.out = address_of(out, bytes, stream);
  if (private_in ? !aligned(in) : launch.in.word == 0) {
    std::byte* staged = nullptr;
    launch.in = staging(private_in ? Region::input : Region::inbox, 0, &staged);
    copy(staged, in, bytes, stream);
    in = staged;
  }
  const bool stage_out = private_out ? !aligned(out) : launch.out.word == 0;
  if (stage_out) launch.out = staging(Region::outputs, 0, &result);
  launch.at.in.at[rank()] = in;
  launch.at.out.at[rank()] = result;
  if (in_switch) name_multicast(launch);
  this->launch(find_kernel(variant, call.dtype, size()), launch, stream);
  if (stage_out) copy(out, result, bytes, stream);
}

void CudaTeam::launch_local(const KernelEntry& kernel, Launch& launch, Bytes bytes, cudaStream_t stream) {
  if (kernel.function == nullptr)
    throw Error(Status::unsupported, "there is no kernel for this dtype on cuda", "use another dtype");
  launch.threads = local_threads;
  launch.blocks = static_cast<int>(std::clamp<Bytes>(bytes / (Bytes{local_threads} * pack_bytes), 1, max_blocks));
  void* arguments[] = {&launch};
  check_cuda(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(launch.blocks)), dim3(local_threads),
                              arguments, 0, stream),
             "cudaLaunchKernel", place());
}

/// Kernels take memory that 16 divides: other memory goes through the staging, piece by piece.
void CudaTeam::reduce_locally(const std::array<std::byte*, max_ranks>& inputs, int ranks, const AllreduceCall& call,
                              Index base) {
  if (call.count == 0) return;
  const DeviceGuard guard(place());
  const cudaStream_t stream = stream_of(call.stream);
  const Bytes width = size_of(call.dtype);
  const bool stage_in = ranks == 1 && !aligned(inputs[0]);
  const bool stage_out = !aligned(call.out);
  const Index step = stage_in || stage_out ? options_.scratch_bytes / width : call.count;
  order_.enter(stream);
  for (const Span piece : chunks_of({0, call.count}, step)) {
    const Bytes bytes = piece.count * width;
    std::byte* const out = bytes_at(call.out, piece.first * width);
    Launch launch;
    launch.ranks = ranks;
    launch.count = piece.count;
    launch.op = call.op;
    launch.epilogue = epilogue_of(call, size(), base + piece.first);
    for (int r = 0; r < ranks; ++r) launch.at.in.at[r] = inputs[static_cast<std::size_t>(r)] + piece.first * width;
    launch.at.out.at[0] = stage_out ? region(rank(), Region::outputs) : out;
    if (stage_in) {
      copy(region(rank(), Region::input), launch.at.in.at[0], bytes, stream);
      launch.at.in.at[0] = region(rank(), Region::input);
    }
    launch_local(local_reduce_kernel(call.dtype), launch, bytes, stream);
    if (stage_out) copy(out, launch.at.out.at[0], bytes, stream);
  }
  order_.leave(stream);
}

}  // namespace attune::cuda
