#include "runtime/composites/mpi_vendor.h"

#include <climits>
#include <vector>

#include "core/error.h"
#include "core/floats.h"
#include "core/partition.h"
#include "device/epilogue.h"
#include "runtime/host_registry.h"
#include "runtime/mpi_bootstrap.h"

namespace attune::host {

namespace {

bool is_narrow_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 || dtype == DType::f8e5m2;
}

MPI_Datatype builtin_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::i8:
      return MPI_INT8_T;
    case DType::u8:
      return MPI_UINT8_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::u32:
      return MPI_UINT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::u64:
      return MPI_UINT64_T;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op builtin_op(Op op) {
  switch (op) {
    case Op::prod:
      return MPI_PROD;
    case Op::min:
      return MPI_MIN;
    case Op::max:
      return MPI_MAX;
    case Op::sum:
    case Op::avg:
      break;
  }
  return MPI_SUM;
}

/// inout[i] = op(in[i], inout[i]), as MPI calls it: no context, so one function per dtype and op.
template <DType dtype, Op op>
void user_reduce(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  std::array<std::byte*, max_ranks> inputs{static_cast<std::byte*>(in), static_cast<std::byte*>(inout)};
  static thread_local Counters unused;
  Launch launch;
  launch.variant = "vendor";
  launch.ranks = 2;
  launch.count = *length;
  launch.op = op;
  launch.local_out = static_cast<std::byte*>(inout);
  launch.known_inputs = &inputs;
  launch.counters = &unused;
  with_dtype(dtype, [&]<class T>() {
    const AnyEpilogue<T> none;
    launch.epilogue = &none;
    const auto& kernels = local_kernels();
    const auto d = static_cast<std::size_t>(dtype);
    const Kernel sum = op == Op::sum ? kernels.sum2[d] : nullptr;
    (sum != nullptr ? sum : kernels.any[d])(launch, 0);
  });
}

/// A narrow float as MPI sees it: an opaque type and its operations. Made once per process, never freed: MPI_Finalize
/// takes them.
struct NarrowFloatType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::array<MPI_Op, 5> op{};
};

template <DType dtype>
NarrowFloatType make_narrow_type() {
  NarrowFloatType made;
  check_mpi(MPI_Type_contiguous(static_cast<int>(size_of(dtype)), MPI_BYTE, &made.type), "MPI_Type_contiguous");
  check_mpi(MPI_Type_commit(&made.type), "MPI_Type_commit");
  const auto add = [&]<Op op>() {
    check_mpi(MPI_Op_create(&user_reduce<dtype, op>, 1, &made.op[static_cast<std::size_t>(op)]), "MPI_Op_create");
  };
  add.template operator()<Op::sum>();
  add.template operator()<Op::prod>();
  add.template operator()<Op::min>();
  add.template operator()<Op::max>();
  made.op[static_cast<std::size_t>(Op::avg)] = made.op[static_cast<std::size_t>(Op::sum)];
  return made;
}

const NarrowFloatType& narrow_type(DType dtype) {
  static const std::array<NarrowFloatType, 4> all{make_narrow_type<DType::f16>(), make_narrow_type<DType::bf16>(),
                                                  make_narrow_type<DType::f8e4m3>(), make_narrow_type<DType::f8e5m2>()};
  return all[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(DType::f16)];
}

}  // namespace

namespace {
struct Reduction {
  MPI_Datatype type;
  MPI_Op op;
};
Reduction reduction_of(DType dtype, Op op) {
  if (!is_narrow_float(dtype)) return {builtin_type(dtype), builtin_op(op)};
  return {narrow_type(dtype).type, narrow_type(dtype).op[static_cast<std::size_t>(op)]};
}
}  // namespace

MpiVendor::MpiVendor(MPI_Comm comm) {
  check_mpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  forced_ = std::make_unique<ForcedCommunicators>(comm_);
}

MpiVendor::~MpiVendor() {
  forced_.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void MpiVendor::allreduce(HostTeam& team, const AllreduceCall& call, const std::string& variant) {
  check(call);
  if (call.count == 0) return;
  const MPI_Comm comm = variant == "vendor" ? comm_ : forced_->get(variant);
  const auto [type, op] = reduction_of(call.dtype, call.op);
  const Bytes width = size_of(call.dtype);
  for (const Span part : chunks_of({0, call.count}, INT_MAX / 64 * 64)) {  // MPI's counts are int
    const void* in = static_cast<const std::byte*>(call.in) + part.first * width;
    void* out = static_cast<std::byte*>(call.out) + part.first * width;
    check_mpi(MPI_Allreduce(in == out ? MPI_IN_PLACE : in, out, static_cast<int>(part.count), type, op, comm),
              "MPI_Allreduce");
  }
  if (call.op != Op::avg && call.epilogue.kind == EpilogueKind::none && call.caller == nullptr) return;
  AllreduceCall finish = call;
  finish.in = call.out;
  team.reduce_locally({static_cast<std::byte*>(call.out)}, 1, finish);
}

void MpiVendor::fused(HostTeam& team, const NormCall& call) {
  check(call, team.rank(), team.size());
  if (call.rows == 0 || call.cols == 0) return;
  if (call.collective == Collective::allreduce_rms_norm) {
    NormCall finish = call;
    std::vector<std::byte> residual;  // the reduction overwrites one that shares its memory with the sum
    if (call.residual == call.sum) {
      const auto* from = static_cast<const std::byte*>(call.residual);
      residual.assign(from, from + call.rows * call.cols * size_of(call.dtype));
      finish.residual = residual.data();
    }
    allreduce(team, {call.in, call.sum, call.rows * call.cols, call.dtype, Op::sum, {}});
    return team.normalise_locally(finish, call.sum, call.rows);
  }
  std::array<int, max_ranks> counts{};
  for (int r = 0; r < team.size(); ++r) {
    const Index count = rows_of(call.rows, r, team.size()).count * call.cols;
    if (count > INT_MAX)
      throw Error(Status::unsupported, "MPI_Reduce_scatter: a shard is longer than 2^31 elements",
                  "use the fused kernel");
    counts[static_cast<std::size_t>(r)] = static_cast<int>(count);
  }
  const auto [type, op] = reduction_of(call.dtype, Op::sum);
  check_mpi(MPI_Reduce_scatter(call.in, call.sum, counts.data(), type, op, comm_), "MPI_Reduce_scatter");
  team.normalise_locally(call, call.sum, rows_of(call.rows, team.rank(), team.size()).count);
}

}  // namespace attune::host
