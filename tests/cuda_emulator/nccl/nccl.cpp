/// A stand-in for the part of NCCL that attune uses: collectives through shared memory of the host, in stream order, so
/// that they can be captured. There is no NVLS. `ATTUNE_EMULATED_NCCL_FAIL=call[@rank]` makes a call fail. The log of
/// its choices is NCCL's: NCCL_DEBUG and its like are read once, and again after ncclResetDebugInit. Windows are
/// made of memory from ncclMemAlloc alone, by all ranks together, and must end before that memory does.
/// `ATTUNE_EMULATED_NCCL_WINDOWS=none`: these GPUs have none; the macro FAKE_NCCL_OLD: NCCL from before there were any.
/// `ATTUNE_EMULATED_NCCL_ZEROS=file` gets a line for every call on zeros.
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/floats.h"
#include "meeting.h"

using attune::DType;
using attune::fake_nccl::Meeting;

namespace {

DType dtype_of(ncclDataType_t type) {
  constexpr DType types[]{DType::i8,  DType::u8,  DType::i32, DType::u32,  DType::i64,    DType::u64,
                          DType::f16, DType::f32, DType::f64, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  return types[type];
}

/// One step of a collective, of at most a slot's length.
struct Step {
  ncclComm_t comm;
  DType dtype;
  ncclRedOp_t op;
  std::size_t count;
  bool receives;
};

template <class A>
A combine(ncclRedOp_t op, A a, A b) {
  if (op == ncclMin) return b < a || b != b ? b : a;
  if (op == ncclMax) return a < b || b != b ? b : a;
  if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    if (op == ncclProd) return static_cast<A>(static_cast<U>(a) * std::uint64_t{static_cast<U>(b)});
    return static_cast<A>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return op == ncclProd ? a * b : a + b;
  }
}

template <class T>
void reduce(const Step& step);
void run_step(void* data);

}  // namespace

struct ncclComm {
  std::string algorithm = "TREE", protocol = "LL";
  int channels = 2;
  ncclComm(const std::string& name, int rank, int ranks) : rank(rank), ranks(ranks), meeting(name, rank, ranks) {}
  int rank, ranks;
  Meeting meeting;
  std::byte* result = nullptr;  ///< Pinned.
  std::atomic<ncclResult_t> error{ncclSuccess};
  std::vector<std::unique_ptr<Step>> steps;  ///< Graphs run them again.
  struct Window {
    const std::byte* at;
    std::size_t bytes;
  };
  std::list<Window> windows;

  [[nodiscard]] bool in_window(const void* memory, std::size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(memory);
    return std::ranges::any_of(windows, [&](const Window& w) { return at >= w.at && at + bytes <= w.at + w.bytes; });
  }
};

namespace {

template <class T>
void reduce(const Step& step) {
  const ncclComm& comm = *step.comm;
  auto* out = reinterpret_cast<T*>(comm.result);
  for (std::size_t i = 0; i < step.count; ++i) {
    auto sum = attune::widen_one(reinterpret_cast<const T*>(comm.meeting.slot(0))[i]);
    for (int r = 1; r < comm.ranks; ++r)
      sum = combine(step.op, sum, attune::widen_one(reinterpret_cast<const T*>(comm.meeting.slot(r))[i]));
    if (step.op == ncclAvg) sum /= static_cast<decltype(sum)>(comm.ranks);
    out[i] = attune::narrow_one<T>(sum);
  }
}

/// Notes in the file ATTUNE_EMULATED_NCCL_ZEROS a call on inputs that hold nothing.
void note_zeros(const Step& step) {
  const char* name = std::getenv("ATTUNE_EMULATED_NCCL_ZEROS");
  if (name == nullptr || step.comm->rank != 0) return;
  const std::size_t bytes = step.count * static_cast<std::size_t>(attune::size_of(step.dtype));
  for (int r = 0; r < step.comm->ranks; ++r) {
    const auto* input = static_cast<const std::byte*>(step.comm->meeting.slot(r));
    if (std::any_of(input, input + bytes, [](std::byte one) { return one != std::byte{}; })) return;
  }
  if (std::FILE* file = std::fopen(name, "a")) std::fprintf(file, "%zu\n", bytes), std::fclose(file);
}

void run_step(void* data) {
  const Step& step = *static_cast<Step*>(data);
  ncclComm& comm = *step.comm;
  if (!comm.meeting.barrier()) comm.error = ncclRemoteError;
  note_zeros(step);
  if (step.receives) attune::with_dtype(step.dtype, [&]<class T>() { reduce<T>(step); });
  if (!comm.meeting.barrier()) comm.error = ncclRemoteError;
}

/// Is this call to fail?
bool planted(const char* call, int rank) {
  const char* text = std::getenv("ATTUNE_EMULATED_NCCL_FAIL");
  if (text == nullptr) return false;
  const std::string_view wanted(text), name = wanted.substr(0, wanted.find('@'));
  if (name != call) return false;
  return name.size() == wanted.size() || std::atoi(text + name.size() + 1) == rank;
}

/// `root` < 0: everybody receives.
ncclResult_t collective(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (comm->error != ncclSuccess) return comm->error;
  const DType dtype = dtype_of(type);
  const auto width = static_cast<std::size_t>(attune::size_of(dtype)), most = Meeting::room / width;
  const bool receives = root < 0 || root == comm->rank;
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t part = std::min(most, count - at), bytes = part * width;
    comm->steps.push_back(std::make_unique<Step>(Step{comm, dtype, op, part, receives}));
    const auto* from = static_cast<const std::byte*>(in) + at * width;
    bool good =
        cudaMemcpyAsync(comm->meeting.slot(comm->rank), from, bytes, cudaMemcpyDefault, stream) == cudaSuccess &&
        cudaLaunchHostFunc(stream, &run_step, comm->steps.back().get()) == cudaSuccess;
    if (good && receives)
      good = cudaMemcpyAsync(static_cast<std::byte*>(out) + at * width, comm->result, bytes, cudaMemcpyDefault,
                             stream) == cudaSuccess;
    if (!good) return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}

bool forced(const char* variable, std::string_view value) {
  const char* text = std::getenv(variable);
  return text != nullptr && value == text;
}

std::string upper(const char* text, const std::string& otherwise) {
  if (text == nullptr) return otherwise;
  std::string word = text;
  std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return word;
}

std::vector<std::pair<std::byte*, std::size_t>> allocated;  ///< By ncclMemAlloc.
std::vector<const void*> in_windows;                        ///< Of that, what is a window.

/// Where the log goes; null: nowhere.
struct Log {
  bool fresh = true;
  std::FILE* file = nullptr;

  void read() {
    if (!fresh) return;
    fresh = false;
    if (file != nullptr && file != stdout) std::fclose(file);
    const char* name = std::getenv("NCCL_DEBUG_FILE");
    const char* subsystem = std::getenv("NCCL_DEBUG_SUBSYS");
    const bool tells = forced("NCCL_DEBUG", "INFO") && subsystem != nullptr && std::string_view(subsystem) == "TUNING";
    file = !tells ? nullptr : name != nullptr ? std::fopen(name, "w") : stdout;
    if (file != nullptr) std::setvbuf(file, nullptr, _IOLBF, 0);
  }
} debug_log;

/// `symmetric`: both buffers are in windows.
void tell(const char* call, std::size_t bytes, const ncclComm& comm, bool symmetric) {
  debug_log.read();
  if (comm.rank != 0 || debug_log.file == nullptr) return;
  if (symmetric)
    std::fprintf(
        debug_log.file,
        "emulated:%d:%d [0] NCCL INFO %s [Symmetric]: %zu Bytes -> Kernel %s_AGxLL_R nchannels %d nthreads 512 "
        "nWorks 1\n",
        getpid(), getpid(), call, bytes, call, comm.channels);
  else
    std::fprintf(debug_log.file,
                 "emulated:%d:%d [0] NCCL INFO %s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}\n", getpid(),
                 getpid(), call, bytes, comm.algorithm.c_str(), comm.protocol.c_str(), comm.channels - 1);
  // Tests count what is told: nothing may be while something is timed.
  if (const char* count = std::getenv("ATTUNE_EMULATED_NCCL_TOLD"))
    if (std::FILE* file = std::fopen(count, "a")) std::fprintf(file, "%s %zu\n", call, bytes), std::fclose(file);
}

}  // namespace

extern "C" {
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int serial = 0;
  std::snprintf(id->internal, sizeof id->internal, "/attune-emulated-nccl-%d-%d", getpid(), serial++);
  return planted("ncclGetUniqueId", 0) ? ncclSystemError : ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (forced("NCCL_ALGO", "nvls")) return ncclInvalidUsage;
  if (planted("ncclCommInitRankConfig", rank)) return ncclSystemError;
  if (std::getenv("ATTUNE_EMULATED_NCCL_FAIL") != nullptr && planted("ncclCommInitRankConfig", rank ^ 1))
    return ncclRemoteError;  // a real one finds out, too
  auto made = std::make_unique<ncclComm>(id.internal, rank, ranks);
  void* result = nullptr;
  if (!made->meeting.good() || cudaHostAlloc(&result, Meeting::room, cudaHostAllocDefault) != cudaSuccess ||
      cudaHostRegister(made->meeting.slot(0), static_cast<std::size_t>(ranks) * Meeting::room, 0) != cudaSuccess)
    return ncclSystemError;
  made->result = static_cast<std::byte*>(result);
  made->algorithm = upper(std::getenv("NCCL_ALGO"), made->algorithm);
  made->protocol = upper(std::getenv("NCCL_PROTO"), made->protocol);
  if (config->maxCTAs != NCCL_CONFIG_UNDEF_INT) made->channels = config->maxCTAs;
  *comm = made.release();  // never freed: streams may still run its steps
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t /*comm*/) { return ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->meeting.leave();
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->error;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t error) {
  return error == ncclSuccess ? "no error" : error == ncclInvalidUsage ? "invalid usage" : "an emulated error";
}
const char* ncclGetLastError(ncclComm_t /*comm*/) { return ""; }
#ifndef FAKE_NCCL_OLD
ncclResult_t ncclMemAlloc(void** memory, size_t bytes) {
  if (planted("ncclMemAlloc", -1) || cudaMalloc(memory, bytes) != cudaSuccess) return ncclUnhandledCudaError;
  allocated.emplace_back(static_cast<std::byte*>(*memory), bytes);
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* memory) {
  if (std::ranges::find(in_windows, memory) != in_windows.end())
    std::fputs("emulated NCCL: memory is freed that is a window\n", stderr);
  std::erase_if(allocated, [&](const auto& one) { return one.first == memory; });
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, size_t bytes, ncclWindow_t* window, int flags) {
  const auto known = std::ranges::find_if(allocated, [&](const auto& one) { return one.first == memory; });
  if (known == allocated.end() || bytes > known->second || flags != NCCL_WIN_COLL_SYMMETRIC) return ncclInvalidArgument;
  *window = nullptr;
  if (forced("ATTUNE_EMULATED_NCCL_WINDOWS", "none")) return ncclSuccess;
  if (planted("ncclCommWindowRegister", comm->rank)) return ncclSystemError;
  if (std::getenv("ATTUNE_EMULATED_NCCL_FAIL") != nullptr && planted("ncclCommWindowRegister", comm->rank ^ 1))
    return ncclRemoteError;
  if (!comm->meeting.barrier()) return ncclRemoteError;
  comm->windows.push_back({static_cast<std::byte*>(memory), bytes});
  in_windows.push_back(memory);
  *window = reinterpret_cast<ncclWindow_t>(&comm->windows.back());
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  const auto* mine = reinterpret_cast<ncclComm::Window*>(window);
  const auto at = std::ranges::find(in_windows, static_cast<const void*>(mine->at));
  if (at == in_windows.end()) return ncclInvalidArgument;
  in_windows.erase(at);
  std::erase_if(comm->windows, [&](const auto& one) { return &one == mine; });
  return ncclSuccess;
}
#endif
void ncclResetDebugInit() { debug_log.fresh = true; }
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (planted("ncclAllReduce", comm->rank)) return ncclInternalError;
  const auto bytes = count * static_cast<std::size_t>(attune::size_of(dtype_of(type)));
  tell("AllReduce", bytes, *comm, comm->in_window(in, bytes) && comm->in_window(out, bytes));
  return collective(in, out, count, type, op, -1, comm, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (planted("ncclReduce", comm->rank)) return ncclInternalError;
  return collective(in, out, count, type, op, root, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  if (planted("ncclReduceScatter", comm->rank)) return ncclInternalError;
  const auto bytes = count * static_cast<std::size_t>(attune::size_of(dtype_of(type)));
  for (int owner = 0; owner < comm->ranks; ++owner) {
    const auto* from = static_cast<const std::byte*>(in) + static_cast<std::size_t>(owner) * bytes;
    if (const auto error = collective(from, out, count, type, op, owner, comm, stream); error != ncclSuccess)
      return error;
  }
  return ncclSuccess;
}
}
