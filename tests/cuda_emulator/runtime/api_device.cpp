/// Devices, errors, versions.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "device.h"
#include "kernel.h"
#include "memory.h"
#include "stream.h"

using namespace attune::emulator;

namespace {

constexpr int version = 13000;

void describe(const Device& d, cudaDeviceProp& p) {
  p = {};
  std::snprintf(p.name, sizeof p.name, "emulated GPU %d (no hardware)", d.physical);
  std::memset(p.uuid.bytes, 0xE0, sizeof p.uuid.bytes);
  p.uuid.bytes[15] = static_cast<char>(d.physical);
  p.totalGlobalMem = settings().memory;
  p.sharedMemPerBlock = std::size_t{48} << 10U;
  p.sharedMemPerMultiprocessor = std::size_t{228} << 10U;
  p.sharedMemPerBlockOptin = p.sharedMemPerBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.major = settings().architecture / 10;
  p.minor = settings().architecture % 10;
  p.multiProcessorCount = settings().multiprocessors;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  p.canMapHostMemory = p.unifiedAddressing = p.concurrentKernels = p.cooperativeLaunch = 1;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = p.memoryPoolsSupported = 1;
  p.asyncEngineCount = 2;
  p.l2CacheSize = 4 << 20;
  p.memoryBusWidth = 512;
  p.pciBusID = 16 + d.physical;
}

int attribute(const Device& d, cudaDeviceAttr what) {
  cudaDeviceProp p;
  describe(d, p);
  switch (what) {
    case cudaDevAttrMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrMaxSharedMemoryPerBlock:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrPciBusId:
      return p.pciBusID;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrConcurrentKernels:
      return 1;
    case cudaDevAttrClockRate:
      return 1000000;
    default:
      return 0;  // multicast among them
  }
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr std::array error_texts{
    ErrorText{cudaSuccess, "cudaSuccess", "no error"},
    ErrorText{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    ErrorText{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    ErrorText{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    ErrorText{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
              "CUDA driver version is insufficient for CUDA runtime version"},
    ErrorText{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    ErrorText{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    ErrorText{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    ErrorText{cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    ErrorText{cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed", "mapping of buffer object failed"},
    ErrorText{cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
              "peer access is not supported between these two devices"},
    ErrorText{cudaErrorOperatingSystem, "cudaErrorOperatingSystem",
              "OS call failed or operation not supported on this OS"},
    ErrorText{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    ErrorText{cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    ErrorText{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    ErrorText{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    ErrorText{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
              "too many resources requested for launch"},
    ErrorText{cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    ErrorText{cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    ErrorText{cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    ErrorText{cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
              "part or all of the requested memory range is already mapped"},
    ErrorText{cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
              "pointer does not correspond to a registered memory region"},
    ErrorText{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    ErrorText{cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
              "too many blocks in cooperative launch"},
    ErrorText{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    ErrorText{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"},
    ErrorText{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
              "operation failed due to a previous error during capture"},
    ErrorText{cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
              "operation would result in a merge of separate capture sequences"},
    ErrorText{cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
              "capture was not ended in the same stream as it began"},
    ErrorText{cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    ErrorText{cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
              "dependency created on uncaptured work in another stream"},
    ErrorText{cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
              "operation would make the legacy stream depend on a capturing blocking stream"},
    ErrorText{cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
              "operation not permitted on an event last recorded in a capturing stream"},
    ErrorText{cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
              "attempt to terminate a thread-local capture sequence from another thread"},
};
const ErrorText* text_of(cudaError_t error) {
  const auto* found = std::find_if(error_texts.begin(), error_texts.end(), [&](auto& t) { return t.error == error; });
  return found == error_texts.end() ? nullptr : found;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return call(__func__, [&] {
    *count = device_count();
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int ordinal) {
  return call(
      __func__,
      [&] {
        if (!valid_ordinal(ordinal)) return cudaErrorInvalidDevice;
        set_current_device(ordinal);
        return cudaSuccess;
      },
      true);
}
cudaError_t cudaInitDevice(int ordinal, unsigned /*flags*/, unsigned /*more*/) {
  return call(__func__, [&] { return valid_ordinal(ordinal) ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaGetDevice(int* ordinal) {
  return call(__func__, [&] {
    *ordinal = current_device().ordinal;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDeviceFlags(unsigned /*flags*/) {
  return call(__func__, [] { return cudaSuccess; });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  return call(__func__, [&] {
    if (!valid_ordinal(ordinal)) return cudaErrorInvalidDevice;
    describe(device(ordinal), *properties);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int ordinal) {
  return call(__func__, [&] {
    if (!valid_ordinal(ordinal)) return cudaErrorInvalidDevice;
    *value = attribute(device(ordinal), what);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int ordinal) {
  return call(__func__, [&] {
    if (!valid_ordinal(ordinal)) return cudaErrorInvalidDevice;
    if (length < 13) return cudaErrorInvalidValue;
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", 16 + device(ordinal).physical);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [&] {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit /*limit*/) {
  return call(__func__, [&] {
    *value = 1024;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetLimit(cudaLimit /*limit*/, std::size_t /*value*/) {
  return call(__func__, [] { return cudaSuccess; });
}
cudaError_t cudaDeviceSynchronize() {
  return call(__func__, [] {
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    wait_for_device(current_device());
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceReset() {
  return call(__func__, [] {
    wait_for_device(current_device());
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int ordinal, int peer) {
  return call(__func__, [&] {
    if (!valid_ordinal(ordinal) || !valid_ordinal(peer)) return cudaErrorInvalidDevice;
    *can = ordinal != peer && settings().may_access(device(ordinal).physical, device(peer).physical) ? 1 : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr what, int from, int to) {
  return call(__func__, [&] {
    if (!valid_ordinal(from) || !valid_ordinal(to) || from == to) return cudaErrorInvalidDevice;
    const bool may = settings().may_access(device(from).physical, device(to).physical);
    *value =
        what == cudaDevP2PAttrPerformanceRank ? 0 : (may && what != cudaDevP2PAttrCudaArrayAccessSupported ? 1 : 0);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call(__func__, [&] {
    Device& mine = current_device();
    if (!valid_ordinal(peer) || peer == mine.ordinal) return cudaErrorInvalidDevice;
    if (flags != 0) return cudaErrorInvalidValue;
    if (!settings().may_access(mine.physical, device(peer).physical)) return cudaErrorPeerAccessUnsupported;
    const std::uint32_t bit = 1U << static_cast<unsigned>(peer);
    if ((mine.peers_on.fetch_or(bit) & bit) != 0) return cudaErrorPeerAccessAlreadyEnabled;
    mine.reachable |= 1U << static_cast<unsigned>(device(peer).physical);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call(__func__, [&] {
    Device& mine = current_device();
    if (!valid_ordinal(peer)) return cudaErrorInvalidDevice;
    const std::uint32_t bit = 1U << static_cast<unsigned>(peer);
    if ((mine.peers_on.fetch_and(~bit) & bit) == 0) return cudaErrorPeerAccessNotEnabled;
    mine.reachable &= ~(1U << static_cast<unsigned>(device(peer).physical));
    return cudaSuccess;
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(__func__, [&] {
    *total = settings().memory;
    *free = settings().memory - current_device().allocated;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* number) {
  return call(__func__, [&] {
    *number = version;
    return cudaSuccess;
  });
}
cudaError_t cudaDriverGetVersion(int* number) {
  return call(__func__, [&] {
    *number = version;
    return cudaSuccess;
  });
}
cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorName(cudaError_t error) {
  const auto* text = text_of(error);
  return text ? text->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const auto* text = text_of(error);
  return text ? text->text : "unrecognized error code";
}
}
