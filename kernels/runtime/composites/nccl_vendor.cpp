#include "runtime/composites/nccl_vendor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "runtime/composites/forced_variable.h"
#include "runtime/composites/nccl_windows.h"
#include "runtime/symmetric_memory.h"

namespace attune::cuda {

namespace {
constexpr std::string_view prefix = "vendor:nccl/";
constexpr std::array<std::string_view, 3> algorithms{"ring", "tree", "nvls"};
constexpr std::array<std::string_view, 3> protocols{"ll", "ll128", "simple"};

ncclDataType_t type_of(DType dtype) {
  constexpr std::array<ncclDataType_t, 12> types{ncclFloat64,    ncclFloat32,    ncclFloat16, ncclBfloat16,
                                                 ncclFloat8e4m3, ncclFloat8e5m2, ncclInt8,    ncclUint8,
                                                 ncclInt32,      ncclUint32,     ncclInt64,   ncclUint64};
  return types[static_cast<std::size_t>(dtype)];
}

ncclRedOp_t op_of(Op op) {
  constexpr std::array<ncclRedOp_t, 5> ops{ncclSum, ncclAvg, ncclProd, ncclMin, ncclMax};
  return ops[static_cast<std::size_t>(op)];
}

std::byte* bytes_at(void* memory, Bytes offset) { return static_cast<std::byte*>(memory) + offset; }

[[noreturn]] void refuse_choice(std::string_view variant) {
  throw Error(Status::usage, fmt::format("unknown choice of the vendor '{}'", variant),
              fmt::format("use {}{{{}}}, then /{{{}}}, then /BLOCKS; or {}", prefix, fmt::join(algorithms, ","),
                          fmt::join(protocols, ","), symmetric_choice));
}
}  // namespace

NcclChoice parse_nccl_choice(std::string_view variant) {
  NcclChoice choice;
  choice.symmetric = variant == symmetric_choice;
  if (variant == "vendor" || choice.symmetric) return choice;
  if (!variant.starts_with(prefix)) refuse_choice(variant);
  std::string_view rest = variant.substr(prefix.size());
  const auto next = [&rest] {
    const std::string_view word = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
  };
  choice.algorithm = next();
  choice.protocol = next();
  const std::string_view ctas = next();
  const bool known = std::ranges::find(algorithms, choice.algorithm) != algorithms.end() &&
                     (choice.protocol.empty() || std::ranges::find(protocols, choice.protocol) != protocols.end());
  const auto [end, code] = std::from_chars(ctas.begin(), ctas.end(), choice.ctas);
  const bool number = ctas.empty() || (code == std::errc{} && end == ctas.end() && choice.ctas > 0);
  if (!known || !number || !rest.empty()) refuse_choice(variant);
  return choice;
}

NcclVendor::NcclVendor(CudaTeam& team) : team_(team) {
  if (team.bootstrap().one_process()) {
    why_not_ = "a team of streams on one GPU has no vendor";
    return;
  }
  if (std::getenv("ATTUNE_NCCL") != nullptr && std::string_view(std::getenv("ATTUNE_NCCL")) == "0")
    why_not_ = "ATTUNE_NCCL=0";
  else
    why_not_ = nccl().missing;
  why_not_ = first_fault(team.bootstrap(), why_not_);
  why_no_windows_ = first_fault(team.bootstrap(), why_no_symmetric_memory());
  if (why_not_.empty()) {
    bool refused = false;
    const ncclComm_t made = make({}, why_not_, refused);
    if (why_not_.empty()) made_.emplace("vendor", made);
  }
}

NcclVendor::~NcclVendor() {
  for (auto& [name, comm] : made_) {
    forget_windows(comm);
    (void)nccl().comm_abort(comm);  // destroy would wait for peers that may be gone
  }
}

std::string NcclVendor::why_not(std::string_view variant) const {
  const bool symmetric = parse_nccl_choice(variant).symmetric;
  return why_not_.empty() && symmetric ? why_no_windows_ : why_not_;
}

/// Collective. All ranks get a communicator, or all the same fault; `refused`: because NCCL cannot do what was chosen.
ncclComm_t NcclVendor::make(const NcclChoice& choice, std::string& fault, bool& refused) {
  Bootstrap& bootstrap = team_.bootstrap();
  const Place& place = team_.place();
  ncclUniqueId id{};
  std::string mine;
  if (bootstrap.rank() == 0) mine = fault_of(nccl().get_unique_id(&id), "ncclGetUniqueId", place);
  fault = first_fault(bootstrap, mine);
  if (!fault.empty()) return nullptr;
  id = bootstrap.gather(id).front();
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (choice.ctas > 0) config.minCTAs = config.maxCTAs = choice.ctas;
  {
    const DeviceGuard guard(place);
    const ForcedVariable algorithm("NCCL_ALGO", choice.algorithm);
    const ForcedVariable protocol("NCCL_PROTO", choice.protocol);
    const auto code = nccl().comm_init(&comm, bootstrap.size(), id, bootstrap.rank(), &config);
    mine = fault_of(code, "ncclCommInitRankConfig", place);
    refused = refuses(code);
  }
  const auto all = bootstrap.gather(refused ? 1 : 0);
  refused = std::ranges::find(all, 0) == all.end();
  fault = first_fault(bootstrap, mine);
  if (fault.empty() && choice.symmetric) {
    const DeviceGuard guard(place);
    fault = register_windows(comm, bootstrap, place, refused);
  }
  if (fault.empty()) return comm;
  if (comm != nullptr) {
    forget_windows(comm);
    (void)nccl().comm_abort(comm);
  }
  return nullptr;
}

ncclComm_t NcclVendor::communicator(const std::string& variant, void* stream) {
  if (!why_not_.empty()) throw Error(Status::unsupported, "no vendor: " + why_not_, "use another variant");
  if (const auto found = made_.find(variant); found != made_.end()) return found->second;
  const auto refuse = [&](Status status, const std::string& why) {
    throw Error(status, variant + ": " + why, "use the variant vendor");
  };
  if (const auto found = refused_.find(variant); found != refused_.end()) refuse(Status::unsupported, found->second);
  if (capture_of(team_.stream_of(stream), team_.place()) != 0)
    throw Error(Status::usage, variant + ": its first call cannot be captured", "call it once before the capture");
  std::string fault;
  bool refused = false;
  const ncclComm_t comm = make(parse_nccl_choice(variant), fault, refused);
  if (refused) refused_.emplace(variant, fault);
  if (!fault.empty()) refuse(refused ? Status::unsupported : Status::vendor, fault);
  made_.emplace(variant, comm);
  return comm;
}

std::unique_ptr<Vendor> make_vendor(CudaTeam& team) { return std::make_unique<NcclVendor>(team); }

void NcclVendor::allreduce(const AllreduceCall& call, const std::string& variant) {
  const ncclComm_t comm = communicator(variant, call.stream);
  if (call.count == 0) return;
  const DeviceGuard guard(team_.place());
  const cudaStream_t stream = team_.stream_of(call.stream);
  team_.order().enter(stream);
  check_nccl(nccl().all_reduce(call.in, call.out, static_cast<std::size_t>(call.count), type_of(call.dtype),
                               op_of(call.op), comm, stream),
             "ncclAllReduce", team_.place());
  team_.order().leave(stream);
  if (call.epilogue.kind == EpilogueKind::none) return;
  AllreduceCall finish = call;
  finish.op = Op::sum;  // of one input; the average is taken
  team_.reduce_locally({static_cast<std::byte*>(call.out)}, 1, finish);
}

void NcclVendor::fused(const NormCall& call) {
  const ncclComm_t comm = communicator("vendor", call.stream);
  if (call.rows == 0 || call.cols == 0) return;
  const Place& place = team_.place();
  const DeviceGuard guard(place);
  const cudaStream_t stream = team_.stream_of(call.stream);
  const ncclDataType_t type = type_of(call.dtype);
  const auto elements = static_cast<std::size_t>(call.rows * call.cols);
  team_.order().enter(stream);
  if (call.collective == Collective::allreduce_rms_norm) {
    // Not into `sum`: the residual may be there.
    check_nccl(nccl().all_reduce(call.in, call.normalised, elements, type, ncclSum, comm, stream), "ncclAllReduce",
               place);
    team_.order().leave(stream);
    return team_.normalise_locally(call, call.normalised, call.rows);
  }
  const int ranks = team_.size();
  if (call.rows % ranks == 0) {
    check_nccl(nccl().reduce_scatter(call.in, call.sum, elements / static_cast<std::size_t>(ranks), type, ncclSum, comm,
                                     stream),
               "ncclReduceScatter", place);
  } else {
    check_nccl(nccl().group_start(), "ncclGroupStart", place);
    for (int owner = 0; owner < ranks; ++owner) {
      const Span rows = rows_of(call.rows, owner, ranks);
      const void* in = bytes_at(const_cast<void*>(call.in), rows.first * call.cols * size_of(call.dtype));
      check_nccl(nccl().reduce(in, call.sum, static_cast<std::size_t>(rows.count * call.cols), type, ncclSum, owner,
                               comm, stream),
                 "ncclReduce", place);
    }
    check_nccl(nccl().group_end(), "ncclGroupEnd", place);
  }
  team_.order().leave(stream);
  team_.normalise_locally(call, call.sum, rows_of(call.rows, team_.rank(), ranks).count);
}

}  // namespace attune::cuda
