#include "runtime/composites/mpi_vendor.h"

#include <climits>

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
  const bool narrow = is_narrow_float(call.dtype);
  const MPI_Datatype type = narrow ? narrow_type(call.dtype).type : builtin_type(call.dtype);
  const MPI_Op op = narrow ? narrow_type(call.dtype).op[static_cast<std::size_t>(call.op)] : builtin_op(call.op);
  const Bytes width = size_of(call.dtype);
  for (const Span part : chunks_of({0, call.count}, INT_MAX / 64 * 64)) {  // MPI's counts are int
    const void* in = static_cast<const std::byte*>(call.in) + part.first * width;
    void* out = static_cast<std::byte*>(call.out) + part.first * width;
    check_mpi(MPI_Allreduce(in == out ? MPI_IN_PLACE : in, out, static_cast<int>(part.count), type, op, comm),
              "MPI_Allreduce");
  }
  if (call.op != Op::avg && call.epilogue.kind == EpilogueKind::none) return;
  AllreduceCall finish = call;
  finish.in = call.out;
  team.reduce_locally({static_cast<std::byte*>(call.out)}, 1, finish);
}

}  // namespace attune::host
