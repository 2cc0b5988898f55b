#pragma once
/// A rank of the world on an emulated GPU, and what its buffers hold. Inputs are integers that every order of summation
/// keeps exact; they differ by rank, position and turn.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "variants/registry.h"

namespace attune::emulated {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Before the CUDA runtime looks: every rank sees the eight devices in another order, and takes another one.
[[gnu::constructor(101)]] inline void permute_devices() {
  const char* text = std::getenv("OMPI_COMM_WORLD_RANK");
  const int rank = text != nullptr ? std::atoi(text) : 0;
  std::string list;
  for (int i = 0; i < 8; ++i) list += (i > 0 ? "," : "") + std::to_string((3 * i + 2 * rank + 1) % 8);
  ::setenv("CUDA_VISIBLE_DEVICES", list.c_str(), 1);
}

inline Options on_gpus(double timeout_s = 20) {
  return {.device = DeviceKind::cuda, .table = "none", .timeout_s = timeout_s, .scratch_bytes = Bytes{1} << 18};
}

inline std::vector<float> input_of(int rank, Index count, int turn) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>((i * 7 + rank * 13 + turn * 5) % 101);
  return values;
}
inline std::vector<float> sum_of(int ranks, Index count, int turn) {
  std::vector<float> sum(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto one = input_of(rank, count, turn);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}
inline Bytes bytes_of(Index count) { return count * static_cast<Bytes>(sizeof(float)); }

inline void put(Communicator& comm, float* at, Index count, int turn) {
  comm.copy(at, input_of(comm.rank(), count, turn).data(), bytes_of(count));
}
inline void expect_sum(Communicator& comm, const float* at, Index count, int turn, const std::string& what) {
  std::vector<float> seen(static_cast<std::size_t>(count));
  comm.copy(seen.data(), at, bytes_of(count));
  EXPECT_EQ(seen, sum_of(comm.size(), count, turn)) << what << ", rank " << comm.rank() << ", " << count;
}
/// One call with new data.
inline void sum(Communicator& comm, float* in, float* out, Index count, int turn, const Plan& plan) {
  put(comm, in, count, turn);
  comm.allreduce(in, out, count, DType::f32, Op::sum, plan);
  expect_sum(comm, out, count, turn, to_string(plan));
}

/// A plan for every variant that runs on these devices; `composites`: those that are no kernel, too.
inline std::vector<Plan> plans(const Communicator& comm, bool composites) {
  std::vector<Plan> all;
  for (const auto& info : variant_table)
    if (comm.why_not(info.name).empty() && (composites || !info.composite))
      all.push_back({.variant = std::string(info.name), .blocks = 2, .threads = 64});
  return all;
}

/// Plain device memory, as an application has it.
class PlainMemory {
 public:
  explicit PlainMemory(Index count) {
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, static_cast<std::size_t>(bytes_of(count))), cudaSuccess);
    at_ = static_cast<float*>(at);
  }
  ~PlainMemory() { release(); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  void release() {
    if (at_ != nullptr) (void)cudaFree(at_);
    at_ = nullptr;
  }
  [[nodiscard]] float* get() const { return at_; }

 private:
  float* at_ = nullptr;
};

/// Does the step, expects an Error, and gives its text.
template <class F>
std::string error_of(F&& step) {
  try {
    step();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "rank " << world_rank() << ": no error";
  return {};
}

}  // namespace attune::emulated
