#include "runtime/host_team.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/partition.h"
#include "device/epilogue.h"
#include "runtime/digest.h"
#include "runtime/host_registry.h"
#include "variants/registry.h"

namespace attune::host {

namespace {
constexpr Bytes page = 4096;
constexpr std::uint32_t left = 2;  ///< In Control::failed: the rank has left in good order.
constexpr Bytes default_chunk_bytes = 64 * 1024;
constexpr Bytes largest_chunk_bytes = Bytes{1} << 40;  ///< Longer than any piece, and far from an overflow.
constexpr Bytes default_slot_bytes = 256 * 1024;  ///< Chunks of variants with slots: fewer flags, still in the cache.

constexpr Bytes round_up(Bytes bytes, Bytes to) { return (bytes + to - 1) / to * to; }
/// Slots of pushed shards are rounded to packs: a region is a little larger than the message.
constexpr Bytes region_bytes(Bytes scratch_bytes) { return scratch_bytes + page; }
/// Three slots of one pack per rank, for as many blocks as there may be.
constexpr Bytes least_scratch = 3 * max_ranks * max_blocks * Bytes{host_pack_bytes};
constexpr Bytes control_bytes() { return round_up(static_cast<Bytes>(sizeof(Control)), page); }

/// The last-level cache in bytes; 32 MiB when the system does not tell.
Bytes last_level_cache() {
  static const Bytes size = [] {
    const long l3 = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return l3 > 0 ? Bytes{l3} : Bytes{32} << 20;
  }();
  return size;
}

std::uint64_t digest_of(std::size_t variant, const Plan& plan, const AllreduceCall& call, Span piece) {
  return Digest()
      .add(variant)
      .add(static_cast<std::uint64_t>(plan.blocks))
      .add(static_cast<std::uint64_t>(plan.chunk_bytes))
      .add((call.caller != nullptr ? 1U << 24 : 0U) | static_cast<std::uint64_t>(call.dtype) << 16 |
           static_cast<std::uint64_t>(call.op) << 8 | static_cast<std::uint64_t>(call.epilogue.kind))
      .add(static_cast<std::uint64_t>(call.count))
      .add(static_cast<std::uint64_t>(piece.first))
      .value();
}

template <class T>
AnyEpilogue<T> make_epilogue(const AllreduceCall& call, int ranks, Index base) {
  const auto& spec = call.epilogue;
  return {spec.kind, call.op == Op::avg ? ranks : 1, spec.scale, static_cast<const T*>(spec.operand), spec.cols, base};
}

/// The caller's own kernel of a variant; `local`: of the reduction without peers.
constexpr std::size_t local = variant_table.size();
Kernel callers_kernel(const CallerKernels& caller, std::size_t variant, Op op) {
  const auto& list = op == Op::sum || op == Op::avg ? caller.sum : caller.any;
  return variant == local ? list.back() : list[variant];
}

/// The kernel compiled for this call alone if there is one, else the one that takes any op and epilogue.
Kernel choose_kernel(const KernelTable& table, std::size_t variant, const AllreduceCall& call, int ranks) {
  if (call.caller != nullptr) return callers_kernel(*call.caller, variant, call.op);
  const auto d = static_cast<std::size_t>(call.dtype);
  const bool sums = call.op == Op::sum || (call.op == Op::avg && is_float(call.dtype));
  if (!sums || call.epilogue.kind != EpilogueKind::none || table.sum[d] == nullptr) return table.any[d];
  return ranks == 2 ? table.sum2[d] : table.sum[d];
}
bool aligned(const void* p, std::uintptr_t to = host_pack_bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % to == 0;
}
void check(const AllreduceCall& call, const Plan& plan) {
  attune::check(call);
  if (plan.blocks < 1 || plan.blocks > max_blocks)
    throw Error(Status::usage, "plan: blocks is " + std::to_string(plan.blocks),
                "use 1 to " + std::to_string(max_blocks));
}
CallerArguments callers_arguments(const AllreduceCall& call, int ranks, Index base) {
  return {call.caller != nullptr ? call.caller->function : nullptr, call.op == Op::avg ? ranks : 1, base};
}
}  // namespace

HostTeam::HostTeam(std::unique_ptr<Bootstrap> bootstrap, const TeamOptions& options)
    : bootstrap_(std::move(bootstrap)),
      options_(options),
      counters_(std::make_unique<Counters>()),
      workers_(oversubscribed(2) ? 0 : 2000) {
  if (size() > max_ranks)
    throw Error(Status::unsupported, "a team has at most 8 ranks, this communicator has " + std::to_string(size()),
                "use sub-communicators of up to 8 ranks");
  if (options.scratch_bytes < 1)
    throw Error(Status::usage, "options: scratch_bytes is " + std::to_string(options.scratch_bytes),
                "give 1 or more bytes");
  if (options_.near == 0) options_.near = size();
  if (options_.near < 1 || size() % options_.near != 0)
    throw Error(Status::usage, "options: near is " + std::to_string(options_.near),
                "give a number that divides the team's ranks");
  options_.scratch_bytes = round_up(std::max(options.scratch_bytes, least_scratch), page);
  own_ = std::make_unique<SharedSegment>(*bootstrap_, control_bytes() + 3 * region_bytes(options_.scratch_bytes));
  auto* control = new (own_->base(rank())) Control;
  for (auto& block : counters_->block) {
    block.sent.fill(options_.first_epoch);
    block.expected.fill(options_.first_epoch);
  }
  for (auto& block : control->pad.line)
    for (auto& line : block) line.epoch.store(options_.first_epoch, std::memory_order_relaxed);
  for (int r = 0; r < size(); ++r) {
    control_[static_cast<std::size_t>(r)] = reinterpret_cast<Control*>(own_->base(r));
    scratch_[static_cast<std::size_t>(r)] = region(r, Region::scratch);
    inbox_[static_cast<std::size_t>(r)] = region(r, Region::inbox);
  }
  mail_calls_ = options_.first_epoch;
  segments_.emplace_back();
  bases_.push_back(own_->bases());
  bootstrap_->barrier();  // every control block is ready before the first launch writes to it
}

/// No peer may still be reading my memory: waits until everybody leaves or has failed, which a barrier of the bootstrap
/// would not notice.
HostTeam::~HostTeam() {
  if (!lost_) state_of(rank()).store(left, std::memory_order_release);
  const auto start = std::chrono::steady_clock::now();
  for (int peer = 0; peer < size() && !lost_; ++peer)
    for (unsigned turn = 1; state_of(peer).load(std::memory_order_acquire) == 0; ++turn) {
      std::this_thread::yield();
      if (turn % 64 == 0 && options_.progress != nullptr) options_.progress(options_.progress_context);
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (options_.timeout_s > 0 && waited.count() > options_.timeout_s) return;
    }
}

std::atomic<std::uint32_t>& HostTeam::state_of(int rank) const {
  return reinterpret_cast<Control*>(own_->base(rank))->failed;
}

std::byte* HostTeam::region(int rank, Region which) const {
  return own_->base(rank) + control_bytes() + static_cast<Bytes>(which) * region_bytes(options_.scratch_bytes);
}

SymmetricAddress HostTeam::staging(Region which, Bytes offset, std::byte** local) const {
  *local = region(rank(), which) + offset;
  return SymmetricAddress::make(0, static_cast<std::uint64_t>(*local - own_->base(rank())));
}

std::byte* HostTeam::allocate(Bytes bytes) {
  if (bytes < 0) throw Error(Status::usage, "allocate: negative size", "give 0 or more bytes");
  auto segment = std::make_unique<SharedSegment>(*bootstrap_, round_up(bytes, page));
  const std::byte* mine = segment->base(rank());
  ranges_.push_back({mine, mine + segment->bytes(rank()), segments_.size()});
  bases_.push_back(segment->bases());
  segments_.push_back(std::move(segment));
  return bases_.back()[static_cast<std::size_t>(rank())];
}

void HostTeam::release(std::byte* memory) {
  for (std::size_t s = 1; s < segments_.size(); ++s) {
    if (segments_[s] == nullptr || segments_[s]->base(rank()) != memory) continue;
    bool complete = !lost_;
    for (int peer = 0; peer < size(); ++peer) complete = complete && state_of(peer).load() == 0;
    if (complete) bootstrap_->barrier();  // no peer still reads or writes it
    std::erase_if(ranges_, [&](const OwnRange& range) { return range.segment == s; });
    segments_[s].reset();
    bases_[s] = {};
    return;
  }
  throw Error(Status::usage, "release: this memory is not from allocate of this communicator",
              "release each buffer once");
}

SymmetricAddress HostTeam::address_of(const void* memory, Bytes bytes) const {
  const auto* at = static_cast<const std::byte*>(memory);
  for (const OwnRange& range : ranges_)
    if (at >= range.begin && at + bytes <= range.end)
      return SymmetricAddress::make(range.segment, static_cast<std::uint64_t>(at - range.begin));
  return {};
}

bool HostTeam::registered(const void* memory, Bytes bytes) const { return address_of(memory, bytes).word != 0; }

bool HostTeam::beyond_cache(Bytes bytes) const { return 2 * bytes * size() > last_level_cache() * 3 / 4; }

/// Above, storing through the cache takes 0.7 to 1.2 of the time where cores share one, and up to four times as long
/// where they do not (2 MiB, two ranks, a cache of 32 MiB).
bool HostTeam::worth_a_trial(Bytes bytes) const { return 2 * bytes * size() <= last_level_cache() / 8; }

void HostTeam::launch(Kernel kernel, Launch& launch) {
  complete(launch);
  start(kernel, launch);
}

void HostTeam::complete(Launch& launch) {
  launch.rank = rank();
  launch.ranks = size();
  launch.near = options_.near;
  launch.segment = bases_.data();
  launch.counters = counters_.get();
  launch.policy = {oversubscribed(launch.blocks) ? 0 : 4096, options_.timeout_s, options_.progress,
                   options_.progress_context};
  launch.control = control_;
  launch.scratch = scratch_;
  launch.inbox = inbox_;
}

void HostTeam::start(Kernel kernel, Launch& launch) {
  if (lost_) throw Error(Status::internal, "this communicator has failed before", "make a new one on all ranks");
  launch.number = launches_++;
  Control& control = *launch.control[static_cast<std::size_t>(launch.rank)];
  CurrentLaunch& current = control.current[launch.number & 1U];
  current.digest.store(launch.digest, std::memory_order_relaxed);
  current.number.store(std::uint64_t{launch.number} + 1, std::memory_order_release);
  try {
    if (launch.blocks == 1) {
      kernel(launch, 0);
    } else {
      workers_.run(launch.blocks, [&](int block) { kernel(launch, block); });
    }
  } catch (...) {
    lost_ = true;
    control.failed.store(1, std::memory_order_release);
    throw;
  }
}

/// Elements of a pipelining step, in whole packs. Slots must fit in a region; their number is equal on all ranks.
Index HostTeam::chunk_elements(const Traits& traits, const Plan& plan, DType dtype) const {
  if (!traits.chunked) return default_chunk_bytes;
  Bytes bytes = std::min(plan.chunk_bytes, largest_chunk_bytes);
  if (traits.needs == Needs::peer_slots) {
    const Bytes of_block = options_.scratch_bytes / (3 * plan.blocks) / host_pack_bytes * host_pack_bytes;
    const Bytes rounding = (size() - 1) * Bytes{host_pack_bytes};  // shards are whole packs: a slot may be larger
    bytes = std::min(bytes > 0 ? bytes : default_slot_bytes, std::max(of_block - rounding, Bytes{host_pack_bytes}));
  }
  return round_up(bytes > 0 ? bytes : default_chunk_bytes, host_pack_bytes) / size_of(dtype);
}

void HostTeam::allreduce(std::size_t variant, const Plan& plan, const AllreduceCall& call) {
  check(call, plan);
  if (call.count == 0) return;
  if (size() == 1)  // nobody to exchange with, whatever the variant
    return reduce_locally({static_cast<std::byte*>(const_cast<void*>(call.in))}, 1, call);
  const Index most = piece_elements(variant_table[variant].traits, call);
  HostCall prepared(*this);
  for (const Span piece : chunks_of({0, call.count}, most)) {
    describe(prepared, variant, plan, call, piece);
    prepared.run();
  }
}

std::unique_ptr<HostCall> HostTeam::prepare(std::size_t variant, const Plan& plan, const AllreduceCall& call) {
  check(call, plan);
  if (size() == 1 || call.count == 0 || piece_elements(variant_table[variant].traits, call) < call.count) return {};
  auto prepared = std::make_unique<HostCall>(*this);
  describe(*prepared, variant, plan, call, {0, call.count});
  return prepared;
}

Index HostTeam::piece_elements(const Traits& traits, const AllreduceCall& call) const {
  if (traits.needs == Needs::peer_slots) return call.count;
  const bool partials = traits.needs == Needs::domains;  // scratch holds accumulators
  if (partials)
    return with_dtype(call.dtype,
                      [&]<class T>() { return options_.scratch_bytes / static_cast<Bytes>(sizeof(Accumulator<T>)); });
  const Bytes most = traits.max_bytes > 0 ? std::min(traits.max_bytes, options_.scratch_bytes) : options_.scratch_bytes;
  return most / size_of(call.dtype);
}

void HostTeam::describe(HostCall& prepared, std::size_t variant, const Plan& plan, const AllreduceCall& call,
                        Span piece) {
  const Traits& traits = variant_table[variant].traits;
  const Bytes width = size_of(call.dtype);
  const Bytes bytes = piece.count * width;
  auto* in = static_cast<std::byte*>(const_cast<void*>(call.in)) + piece.first * width;
  auto* out = static_cast<std::byte*>(call.out) + piece.first * width;

  Launch& launch = prepared.launch;
  launch.variant = variant_table[variant].name;
  launch.blocks = plan.blocks;
  launch.count = piece.count;
  launch.chunk = chunk_elements(traits, plan, call.dtype);
  launch.op = call.op;
  launch.digest = digest_of(variant, plan, call, piece);
  launch.in = aligned(in) ? address_of(in, bytes) : SymmetricAddress{};
  launch.out = aligned(out) ? address_of(out, bytes) : SymmetricAddress{};
  launch.local_in = in;
  launch.local_out = out;
  const bool stage_in =
      (launch.in.word == 0 && reads_peer_inputs(traits.needs)) || (in == out && traits.in_place == InPlace::unsafe);
  if (stage_in) launch.in = staging(Region::inbox, 0, &launch.local_in);
  const bool stage_out = launch.out.word == 0 && uses_peer_outputs(traits.needs);
  if (stage_out) launch.out = staging(Region::outputs, 0, &launch.local_out);
  launch.streaming = !stage_out && aligned(out, 16) && beyond_cache(call.count * width);

  const bool tried = options_.stores == Stores::tried && !launch.streaming && (in == out || worth_a_trial(bytes));
  prepared.trial = tried ? &trial_of(variant, bytes, in == out) : nullptr;
  launch.sends_past_cache = launch.streaming || options_.stores != Stores::through_cache;
  prepared.kernel = choose_kernel(kernels(variant), variant, call, size());
  prepared.in_band = traits.needs == Needs::mailboxes;
  prepared.input = stage_in ? in : nullptr;
  prepared.output = stage_out ? out : nullptr;
  prepared.bytes = static_cast<std::size_t>(bytes);
  prepared.callers = callers_arguments(call, size(), piece.first);
  launch.extra = &prepared.callers;
  with_dtype(call.dtype, [&]<class T>() { prepared.set_epilogue(make_epilogue<T>(call, size(), piece.first)); });
  launch.epilogue = prepared.epilogue();
  complete(launch);
}

/// In place, a rank holds the lines that it writes, until a trial tells better.
StoreTrial& HostTeam::trial_of(std::size_t variant, Bytes bytes, bool in_place) {
  if (trials_.empty()) {
    trials_.resize(variant_table.size());
    for (auto& of_variant : trials_) of_variant[1].fill(StoreTrial(false));
  }
  return trials_[variant][in_place ? 1 : 0]
                [static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)))];
}

void HostCall::run() { team.run(*this); }

void HostTeam::run(HostCall& call) {
  if (call.in_band) call.launch.mail_call = ++mail_calls_;
  if (call.input != nullptr) std::memcpy(call.launch.local_in, call.input, call.bytes);
  if (call.trial != nullptr) call.launch.sends_past_cache = call.trial->begin(std::chrono::steady_clock::now);
  start(call.kernel, call.launch);
  if (call.trial != nullptr) call.trial->end(std::chrono::steady_clock::now);
  if (call.output != nullptr) std::memcpy(call.output, call.launch.local_out, call.bytes);
}

void HostTeam::reduce_locally(const std::array<std::byte*, max_ranks>& inputs, int ranks, const AllreduceCall& call,
                              Index base) {
  Launch launch;
  launch.variant = "local_reduce";
  launch.ranks = ranks;
  launch.count = call.count;
  launch.op = call.op;
  launch.local_out = static_cast<std::byte*>(call.out);
  launch.known_inputs = &inputs;
  const CallerArguments callers = callers_arguments(call, size(), base);
  launch.extra = &callers;
  launch.counters = counters_.get();
  with_dtype(call.dtype, [&]<class T>() {
    const auto epilogue = make_epilogue<T>(call, size(), base);
    launch.epilogue = &epilogue;
    // Compiled averages divide by the inputs they sum: right only where those are the whole team's.
    const auto& table = local_kernels();
    const bool fits = ranks == size() || call.caller != nullptr;
    const Kernel kernel =
        fits ? choose_kernel(table, local, call, ranks) : table.any[static_cast<std::size_t>(call.dtype)];
    kernel(launch, 0);
  });
}

}  // namespace attune::host
