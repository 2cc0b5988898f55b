/// The C interface: every function of it is one of the C++ interface with its exception turned into a status and a
/// text that lives in the handle.
#include <new>
#include <optional>
#include <string>

#include "attune/attune.h"
#include "attune/attune.hpp"
#include "runtime/cuda_device.h"

/// A handle outlives a failed creation, so that there is a place for the reason.
struct attune_comm {
  std::optional<attune::Communicator> communicator;
  std::string error;
};

namespace {
using attune::Error;
using attune::Status;

static_assert(ATTUNE_U64 == static_cast<int>(attune::DType::u64) && ATTUNE_F32 == static_cast<int>(attune::DType::f32));
static_assert(ATTUNE_MAX == static_cast<int>(attune::Op::max) && ATTUNE_AVG == static_cast<int>(attune::Op::avg));
static_assert(ATTUNE_HOST == static_cast<int>(attune::DeviceKind::host) &&
              ATTUNE_CUDA == static_cast<int>(attune::DeviceKind::cuda));
static_assert(ATTUNE_IN_SWITCH == static_cast<int>(attune::Numerics::in_switch));
static_assert(ATTUNE_ERROR_WRONG == static_cast<int>(Status::wrong) &&
              ATTUNE_ERROR_DEVICE == static_cast<int>(Status::device));

/// Runs f; what it throws becomes the handle's text and the status returned.
template <class F>
attune_status guarded(attune_comm* comm, F f) {
  if (comm == nullptr) return ATTUNE_ERROR_USAGE;
  try {
    f();
    return ATTUNE_SUCCESS;
  } catch (const Error& error) {
    comm->error = error.what();
    return static_cast<attune_status>(error.status());
  } catch (const std::exception& error) {
    comm->error = error.what();
    return ATTUNE_ERROR_INTERNAL;
  }
}

attune::Communicator& live(attune_comm* comm) {
  if (!comm->communicator) throw Error(Status::usage, "this communicator was not created", "see its error text");
  return *comm->communicator;
}

/// C has no enum that holds: a number out of range is the caller's mistake.
template <class E>
E checked(int value, const char* argument) {
  if (value < 0 || value >= static_cast<int>(attune::all_of<E>().size()))
    throw Error(Status::usage, std::string(argument) + " is " + std::to_string(value), "use a constant of attune.h");
  return static_cast<E>(value);
}

/// A number that enumerators of one byte can hold; no enumerator if it was none before.
int enumerator_of(int value) { return value < 0 || value > 255 ? 255 : value; }

/// Throws nothing, because the other ranks would wait: what is out of range is found by all ranks together.
attune::Options options_of(const attune_options& given) {
  attune::Options options;
  options.table = given.table != nullptr ? given.table : "";
  options.strict = given.strict != 0;
  options.numerics = static_cast<attune::Numerics>(enumerator_of(given.numerics));
  options.timeout_s = given.timeout_s;
  if (given.scratch_bytes != 0) options.scratch_bytes = given.scratch_bytes;
  options.device = static_cast<attune::DeviceKind>(enumerator_of(given.device));
  options.gpu = given.gpu;
  return options;
}

attune::Plan plan_of(const attune::Communicator& comm, const attune_plan& given) {
  if (given.variant == nullptr)
    throw Error(Status::usage, "no plan was given", "name a variant, or use attune_allreduce");
  const bool cuda = comm.device() == attune::DeviceKind::cuda;
  const int threads = given.threads != 0 ? given.threads : attune::cuda::default_threads;
  return {.variant = given.variant,
          .blocks = given.blocks,
          .threads = cuda ? threads : 1,
          .chunk_bytes = given.chunk_bytes};
}
}  // namespace

attune_status attune_comm_create(MPI_Comm mpi_comm, const attune_options* options, attune_comm** comm) {
  if (comm == nullptr) return ATTUNE_ERROR_USAGE;
  *comm = new (std::nothrow) attune_comm;
  if (*comm == nullptr) return ATTUNE_ERROR_INTERNAL;
  const attune_options defaults = ATTUNE_OPTIONS_DEFAULT;
  return guarded(
      *comm, [&] { (*comm)->communicator.emplace(mpi_comm, options_of(options != nullptr ? *options : defaults)); });
}

void attune_comm_free(attune_comm* comm) { delete comm; }

const char* attune_error_text(const attune_comm* comm) {
  return comm != nullptr ? comm->error.c_str() : "no communicator was given";
}

int attune_rank(const attune_comm* comm) { return comm && comm->communicator ? comm->communicator->rank() : -1; }
int attune_size(const attune_comm* comm) { return comm && comm->communicator ? comm->communicator->size() : 0; }
const char* attune_table_path(const attune_comm* comm) {
  return comm && comm->communicator ? comm->communicator->table_path().c_str() : "";
}

attune_status attune_allocate(attune_comm* comm, size_t bytes, void** memory) {
  return guarded(comm, [&] {
    auto& communicator = live(comm);
    if (memory == nullptr) throw Error(Status::usage, "allocate: no place for the pointer", "pass the address of one");
    *memory = communicator.allocate_bytes(static_cast<attune::Bytes>(bytes));
  });
}

attune_status attune_release(attune_comm* comm, void* memory) {
  return guarded(comm, [&] { live(comm).release(memory); });
}

attune_status attune_allreduce(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                               attune_op op) {
  return guarded(comm, [&] {
    live(comm).allreduce(in, out, count, checked<attune::DType>(dtype, "dtype"), checked<attune::Op>(op, "op"));
  });
}

attune_status attune_allreduce_with(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                                    attune_op op, const attune_plan* plan) {
  return guarded(comm, [&] {
    auto& communicator = live(comm);
    const attune::Plan by_hand = plan_of(communicator, plan != nullptr ? *plan : attune_plan{});
    communicator.allreduce(in, out, count, checked<attune::DType>(dtype, "dtype"), checked<attune::Op>(op, "op"),
                           by_hand);
  });
}

attune_status attune_allreduce_on(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                                  attune_op op, const attune_plan* plan, void* stream) {
  return guarded(comm, [&] {
    auto& communicator = live(comm);
    const attune::AllreduceCall call{
        in, out, count, checked<attune::DType>(dtype, "dtype"), checked<attune::Op>(op, "op"), {}, nullptr, stream};
    if (plan == nullptr) return communicator.allreduce(call);
    communicator.allreduce(call, plan_of(communicator, *plan));
  });
}

attune_status attune_synchronize(attune_comm* comm, void* stream) {
  return guarded(comm, [&] { live(comm).synchronize(stream); });
}

attune_status attune_complete_capture(attune_comm* comm) {
  return guarded(comm, [&] { live(comm).complete_capture(); });
}

size_t attune_dtype_size(attune_dtype dtype) {
  const int number = dtype;
  if (number < 0 || number >= static_cast<int>(attune::all_of<attune::DType>().size())) return 0;
  return static_cast<size_t>(attune::size_of(static_cast<attune::DType>(number)));
}
