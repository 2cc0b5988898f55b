#pragma once
/// Memory faults: in a kernel they end the device (cudaErrorIllegalAddress); in host code that touches device memory
/// they are named before the process ends as it always does.

namespace attune::emulator {

/// Takes the signals, also when somebody else (MPI) has taken them since.
void watch_faults();
/// The calling thread, which never ends, runs kernels: it gets a stack for signals.
void prepare_thread_for_faults();

}  // namespace attune::emulator
