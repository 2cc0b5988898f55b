/// What every kernel reaches of a GPU's copy bandwidth, on teams of streams of that one GPU: bytes that it moves (its
/// cost card) per time, over bytes that a device-to-device copy moves per time. No NVLink is in it. One line of JSON
/// for each cell, behind one that names the device. Emulated GPUs have no times: null.
///
/// usage: gpu_local_speed [samples] [largest message in bytes]
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>

#include "attune/attune.hpp"
#include "runtime/cuda_backend.h"
#include "runtime/cuda_device.h"
#include "runtime/cuda_timing.h"
#include "variants/registry.h"

namespace attune {
namespace {

constexpr Bytes copy_bytes = Bytes{256} << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Bytes per microsecond that a copy on the device reads and writes.
double copy_speed(int samples, Bytes bytes) {
  const auto from = cuda::local_memory(bytes), to = cuda::local_memory(bytes);
  cuda::LaunchTimer timer(20);
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    timer.arm();
    timer.begin();
    const auto code = cudaMemcpyAsync(to.get(), from.get(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                                      static_cast<cudaStream_t>(timer.stream()));
    if (code != cudaSuccess) throw Error(Status::device, cudaGetErrorString(code));
    timer.end();
    timer.go();
    times.push_back(timer.elapsed_us());
  }
  return 2 * static_cast<double>(bytes) / median(times);
}

/// The ranks of one team, as threads.
struct Crew {
  explicit Crew(int ranks) : gate(ranks), times(static_cast<std::size_t>(ranks)) {}
  std::barrier<> gate;
  std::vector<double> times;
};

/// Microseconds of the slowest rank, median of `samples` calls from a common start. Collective.
double time_of(Communicator& comm, Crew& crew, cuda::LaunchTimer& timer, const AllreduceCall& call, const Plan& plan,
               int samples) {
  std::vector<double> times;
  for (int i = -2; i < samples; ++i) {
    timer.arm();
    timer.begin();
    comm.allreduce(call, plan);
    timer.end();
    crew.gate.arrive_and_wait();
    timer.go();
    crew.times[static_cast<std::size_t>(comm.rank())] = timer.elapsed_us();
    crew.gate.arrive_and_wait();
    if (i >= 0) times.push_back(*std::max_element(crew.times.begin(), crew.times.end()));
    crew.gate.arrive_and_wait();
  }
  return median(times);
}

struct Run {
  int samples;
  Bytes most;
  double copy;  ///< Negative: no times.
  int threads = 512;
  std::vector<int> blocks{1, 4, 16, 32};
};

void print_cell(const VariantInfo& info, int ranks, Bytes bytes, const Plan& plan, double us, const Run& run) {
  const Cost cost = info.cost(ranks, bytes);
  const Bytes moved = cost.peer_reads + cost.peer_writes + cost.local_reads + cost.local_writes;
  const auto number = [&](double value) { return run.copy > 0 ? fmt::format("{:.4f}", value) : std::string("null"); };
  fmt::print(
      "{{\"variant\":\"{}\",\"ranks\":{},\"bytes\":{},\"blocks\":{},\"threads\":{},\"moved_bytes\":{},"
      "\"median_us\":{},\"share_of_copy\":{}}}\n",
      info.name, ranks, bytes, plan.blocks, plan.threads, moved, number(us),
      number(static_cast<double>(moved) / us / run.copy));
  std::fflush(stdout);
}

void measure(Communicator& comm, Crew& crew, const Run& run) {
  auto in = comm.allocate<float>(run.most / 4), out = comm.allocate<float>(run.most / 4);
  cuda::LaunchTimer timer(20);
  for (const auto& info : variant_table) {
    if (info.composite || !comm.why_not(info.name).empty()) continue;
    for (Bytes bytes = 4096; bytes <= run.most; bytes *= 16) {
      if (info.traits.max_bytes > 0 && bytes > info.traits.max_bytes) break;
      for (const int blocks : run.blocks) {
        const Plan plan{std::string(info.name), blocks, run.threads, 0};
        const double us = time_of(comm, crew, timer,
                                  {in.data(), out.data(), bytes / 4, DType::f32, Op::sum, {}, nullptr, timer.stream()},
                                  plan, run.samples);
        if (comm.rank() == 0) print_cell(info, comm.size(), bytes, plan, us, run);
      }
    }
  }
}

int measure_all(int samples, Bytes most) {
  if (const std::string reason = cuda::why_no_device(); !reason.empty()) {
    fmt::print(stderr, "no CUDA device: {}\n", reason);
    return 77;
  }
  cuda::prepare_local_team();  // before anything makes a context
  const auto device = cuda::devices().front();
  const bool emulated = device.name.starts_with("emulated");
  const double copy = copy_speed(emulated ? 1 : samples, emulated ? most : copy_bytes);
  fmt::print("{{\"device\":\"{}\",\"arch\":\"{}\",\"multiprocessors\":{},\"driver\":\"{}\",\"copy_gbs\":{}}}\n",
             device.name, device.arch, device.multiprocessors, cuda::driver_version(),
             emulated ? std::string("null") : fmt::format("{:.1f}", copy / 1e3));
  const Run run = emulated ? Run{1, most, -1, 32, {2}} : Run{samples, most, copy};
  for (const int ranks : {2, 4, 8}) {
    Crew crew(ranks);
    run_local_team(ranks, {.device = DeviceKind::cuda, .table = "none"}, [&](Communicator& comm) {
      try {
        measure(comm, crew, run);
      } catch (const std::exception& error) {  // the others stand at the gate
        fmt::print(stderr, "gpu_local_speed: rank {} of {}: {}\n", comm.rank(), ranks, error.what());
        std::_Exit(1);
      }
    });
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int count, char** words) {
  try {
    return attune::measure_all(count > 1 ? std::max(1, std::atoi(words[1])) : 50,
                               count > 2 ? std::atoll(words[2]) : attune::Bytes{16} << 20);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_local_speed: {}\n", error.what());
    return 1;
  }
}
