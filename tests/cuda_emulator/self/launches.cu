#include "tests/cuda_emulator/self/launches.h"

#include "tests/cuda_emulator/self/kernels.cuh"

namespace attune::emulator_test {

void launch_indices(const Shape& s, int* out) { indices<<<s.grid, s.block, 0, s.stream>>>(out); }
void launch_block_sums(const Shape& s, const float* in, float* out) {
  block_sums<<<s.grid, s.block, 0, s.stream>>>(in, out);
}
void launch_racing_sums(const Shape& s, const float* in, float* out) {
  racing_sums<<<s.grid, s.block, 0, s.stream>>>(in, out);
}
void launch_warps(const Shape& s, int* out) { warps<<<s.grid, s.block, 0, s.stream>>>(out); }
void launch_add(const Shape& s, int* data, int count, int value) {
  add<<<s.grid, s.block, 0, s.stream>>>(data, count, value);
}
void launch_append(const Shape& s, int* data, int value) { append<<<s.grid, s.block, 0, s.stream>>>(data, value); }
void launch_to_bf16(const Shape& s, const float* in, void* out) {
  to_bf16<<<s.grid, s.block, 0, s.stream>>>(in, static_cast<__nv_bfloat16*>(out));
}
void launch_meet(const Shape& s, unsigned* mine, unsigned* theirs, unsigned epoch, int turns, int* met) {
  meet<<<s.grid, s.block, 0, s.stream>>>(mine, theirs, epoch, turns, met);
}
cudaError_t launch_exchange(const Shape& s, const int* in, int* out, unsigned* raise, unsigned* await, int count,
                            unsigned epoch) {
  Message message{in, out, raise, await, count, epoch};
  void* arguments[] = {&message};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&exchange), s.grid, s.block, arguments, 0, s.stream);
}
void launch_trap(const Shape& s) { trap<<<s.grid, s.block, 0, s.stream>>>(); }
void launch_half_of_a_barrier(const Shape& s) { half_of_a_barrier<<<s.grid, s.block, 0, s.stream>>>(); }
void launch_write_one(const Shape& s, int* at, int value) { write_one<<<s.grid, s.block, 0, s.stream>>>(at, value); }
const void* add_kernel() { return reinterpret_cast<const void*>(&add); }

}  // namespace attune::emulator_test
