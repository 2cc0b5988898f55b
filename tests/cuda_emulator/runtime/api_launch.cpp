/// What nvcc's host stubs call, launches, functions and their occupancy.
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "kernel.h"
#include "stream.h"

using namespace attune::emulator;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

cudaError_t launch_in_order(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                            cudaStream_t handle) {
  Stream* stream = stream_of(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->device != &current_device()) return cudaErrorInvalidResourceHandle;
  Grid prepared;
  if (const auto error = prepare(stub, grid, block, arguments, shared, &prepared); error != cudaSuccess) return error;
  return enqueue(*stream, [prepared] { return run(prepared); });
}

cudaError_t launch_cooperative(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  const auto blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const int most = blocks_per_multiprocessor(block.x * block.y * block.z) * settings().multiprocessors;
  if (blocks > static_cast<std::uint64_t>(most)) return cudaErrorCooperativeLaunchTooLarge;
  return launch_in_order(stub, grid, block, arguments, shared, stream);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) { return 1; }
void __cudaRegisterFunction(void** /*handle*/, const char* stub, char* /*device_function*/, const char* name,
                            int /*limit*/, uint3* /*tid*/, uint3* /*bid*/, dim3* /*block*/, dim3* /*grid*/,
                            int* /*warp*/) {
  register_stub(stub, name);
}
void __cudaRegisterVar(void** /*handle*/, char* /*host*/, char* /*device*/, const char* /*name*/, int /*ext*/,
                       std::size_t /*size*/, int /*constant*/, int /*global*/) {}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorInvalidConfiguration;
  const auto last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return call("cudaLaunchKernel", [&] { return launch_in_order(kernel, grid, block, arguments, shared, stream); });
}
cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  return call(__func__, [&] { return launch_in_order(stub, grid, block, arguments, shared, stream); });
}
cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream) {
  return call(__func__, [&] { return launch_cooperative(stub, grid, block, arguments, shared, stream); });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub, void** arguments) {
  return call(__func__, [&] {
    bool cooperative = false;
    for (unsigned k = 0; k < config->numAttrs; ++k) {
      if (config->attrs[k].id == cudaLaunchAttributeCooperative) cooperative = config->attrs[k].val.cooperative != 0;
      if (config->attrs[k].id == cudaLaunchAttributeClusterDimension) return cudaErrorNotSupported;
    }
    const auto launch = cooperative ? &launch_cooperative : &launch_in_order;
    return launch(stub, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* stub) {
  return call(__func__, [&] {
    if (kernel_name(stub).empty()) return cudaErrorInvalidDeviceFunction;
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = settings().architecture;
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void* stub, cudaFuncAttribute /*what*/, int /*value*/) {
  return call(__func__, [&] { return kernel_name(stub).empty() ? cudaErrorInvalidDeviceFunction : cudaSuccess; });
}
cudaError_t cudaFuncGetName(const char** name, const void* stub) {
  return call(__func__, [&] {
    static thread_local std::string kept;
    kept = kernel_name(stub);
    *name = kept.c_str();
    return kept.empty() ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub, int threads,
                                                          std::size_t /*shared*/) {
  return call(__func__, [&] {
    if (kernel_name(stub).empty()) return cudaErrorInvalidDeviceFunction;
    if (threads <= 0) return cudaErrorInvalidValue;
    *blocks = blocks_per_multiprocessor(static_cast<unsigned>(threads));
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub, int threads,
                                                                   std::size_t /*shared*/, unsigned /*flags*/) {
  return call(__func__, [&] {
    if (kernel_name(stub).empty()) return cudaErrorInvalidDeviceFunction;
    if (threads <= 0) return cudaErrorInvalidValue;
    *blocks = blocks_per_multiprocessor(static_cast<unsigned>(threads));
    return cudaSuccess;
  });
}
}
