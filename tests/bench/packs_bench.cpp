/// Widening and narrowing, as the inner loops of kernels do it, for the instruction set that this file is compiled for
/// (the library compiles its kernels for several). Bytes are those of the narrow elements.
#include <benchmark/benchmark.h>

#include <vector>

#include "device/host.h"

namespace attune {
namespace {
#if defined(__AVX2__)
using Isa = host::isa::avx2;
#else
using Isa = host::isa::baseline;
#endif
constexpr Index count = 8192;

template <class T>
void widen_and_narrow(benchmark::State& state) {
  std::vector<T> in(count), out(count);
  for (Index i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = from_float<T>(static_cast<float>(i % 13));
  const host::View<T, host::Role::input> from{in.data()};
  const host::View<T, host::Role::output> to{out.data()};
  for (auto _ : state) {
    for (Index first = 0; first < count; first += host_lanes<T>) {
      const host::Full<Isa, T, false> i{first, false};
      to.store(i, narrow<T>(widen(from.load(i))));
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * count * static_cast<Bytes>(sizeof(T)));
}
BENCHMARK(widen_and_narrow<bf16>);
BENCHMARK(widen_and_narrow<f16>);
BENCHMARK(widen_and_narrow<f8e4m3>);
BENCHMARK(widen_and_narrow<f8e5m2>);

}  // namespace
}  // namespace attune
