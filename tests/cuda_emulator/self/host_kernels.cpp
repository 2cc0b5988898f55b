#include "kernels.cuh"

namespace attune::emulator_test {
namespace {

[[maybe_unused]] const bool known =
    emulator::add_kernels(&indices, &block_sums, &racing_sums, &warps, &add, &append, &to_bf16, &meet, &exchange, &trap,
                          &half_of_a_barrier, &write_one<int>);

}  // namespace
}  // namespace attune::emulator_test
