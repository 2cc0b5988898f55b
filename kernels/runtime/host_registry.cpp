#include "runtime/host_registry.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/local_reduce.h"
#include "runtime/local_rms_norm.h"
#include "variants/registry.h"

namespace attune::host {

namespace {

bool machine_has_avx2() {
#if defined(ATTUNE_HAVE_AVX2)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

std::string_view choose_instruction_set() {
  const bool avx2 = machine_has_avx2();
  const char* wish = std::getenv("ATTUNE_ISA");
  if (wish == nullptr || *wish == '\0') return avx2 ? "avx2" : "baseline";
  const std::string_view name = wish;
  if (name == "baseline") return "baseline";
  if (name == "avx2" && avx2) return "avx2";
  throw Error(Status::usage, "ATTUNE_ISA=" + std::string(name) + " is unknown or not of this machine",
              std::string("use baseline") + (avx2 ? " or avx2" : ""));
}

template <class Isa>
std::vector<KernelTable> tables() {
  std::vector<KernelTable> all;
  for_each_variant([&]<class V>() {
    if constexpr (V::traits.needs == Needs::multimem) {
      all.emplace_back();  // no switch here: no host team offers it, and the tests make their own instances
    } else {
      all.push_back(kernels_of<V, Isa>());
    }
  });
  return all;
}

template <class Isa, class... V>
std::vector<FusedTable> fused_tables(TypeList<V...>) {
  return {fused_kernels_of<V, Isa>()...};
}

std::vector<FusedTable> fused_tables_of_this_machine() {
#if defined(ATTUNE_HAVE_AVX2)
  if (instruction_set() == "avx2") return fused_tables<isa::avx2>(FusedVariants{});
#endif
  return fused_tables<isa::baseline>(FusedVariants{});
}

std::vector<KernelTable> tables_of_this_machine() {
#if defined(ATTUNE_HAVE_AVX2)
  if (instruction_set() == "avx2") return tables<isa::avx2>();
#endif
  return tables<isa::baseline>();
}

}  // namespace

std::string_view instruction_set() {
  static const std::string_view name = choose_instruction_set();
  return name;
}

const KernelTable& kernels(std::size_t variant_index) {
  static const std::vector<KernelTable> all = tables_of_this_machine();
  return all.at(variant_index);
}

const FusedTable& fused_kernels(std::size_t index) {
  static const std::vector<FusedTable> all = fused_tables_of_this_machine();
  return all.at(index);
}

const FusedTable& local_norm_kernels() {
#if defined(ATTUNE_HAVE_AVX2)
  if (instruction_set() == "avx2") return fused_kernels_of<local_rms_norm, isa::avx2>();
#endif
  return fused_kernels_of<local_rms_norm, isa::baseline>();
}

const KernelTable& local_kernels() {
#if defined(ATTUNE_HAVE_AVX2)
  if (instruction_set() == "avx2") return kernels_of<local_reduce, isa::avx2>();
#endif
  return kernels_of<local_reduce, isa::baseline>();
}

}  // namespace attune::host
