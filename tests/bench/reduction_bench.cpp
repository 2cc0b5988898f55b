/// The reduction loop against memcpy of as many bytes: a sum of two inputs reads two and writes one, memcpy reads one
/// and writes one, so 1.5 times memcpy's time is what memory allows and more is left on the table. Bytes are those of
/// the result.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "device/epilogue.h"
#include "runtime/host_registry.h"

namespace attune {
namespace {

/// Whole pages, so that both see the same alignment.
struct Pages {
  explicit Pages(Bytes bytes) : memory(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), line))) {
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
  }
  ~Pages() { ::operator delete(memory, line); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  static constexpr std::align_val_t line{4096};
  std::byte* memory;
};

template <DType dtype>
void sum_of_two(benchmark::State& state) {
  const Bytes bytes = state.range(0);
  const Pages a(bytes), b(bytes), out(bytes);
  const std::array<std::byte*, max_ranks> inputs{a.memory, b.memory};
  host::Counters counters;
  host::Launch launch;
  launch.variant = "local_reduce";
  launch.ranks = 2;
  launch.count = bytes / size_of(dtype);
  launch.local_out = out.memory;
  launch.known_inputs = &inputs;
  launch.counters = &counters;
  const auto& kernels = host::local_kernels();
  const auto d = static_cast<std::size_t>(dtype);
  with_dtype(dtype, [&]<class T>() {
    const AnyEpilogue<T> none;
    launch.epilogue = &none;
    const host::Kernel kernel = kernels.sum2[d] != nullptr ? kernels.sum2[d] : kernels.any[d];
    for (auto _ : state) {
      kernel(launch, 0);
      benchmark::ClobberMemory();
    }
  });
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetLabel(std::string(host::instruction_set()));
}

void memcpy_as_much(benchmark::State& state) {
  const Bytes bytes = state.range(0);
  const Pages from(bytes), to(bytes);
  for (auto _ : state) {
    std::memcpy(to.memory, from.memory, static_cast<std::size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

constexpr Bytes small = 16 << 10;
constexpr Bytes large = 16 << 20;
BENCHMARK(memcpy_as_much)->Arg(small)->Arg(large);
BENCHMARK(sum_of_two<DType::f64>)->Arg(small)->Arg(large);
BENCHMARK(sum_of_two<DType::f32>)->Arg(small)->Arg(large);
BENCHMARK(sum_of_two<DType::bf16>)->Arg(small)->Arg(large);
BENCHMARK(sum_of_two<DType::f16>)->Arg(small)->Arg(large);
BENCHMARK(sum_of_two<DType::i32>)->Arg(small)->Arg(large);

}  // namespace
}  // namespace attune
