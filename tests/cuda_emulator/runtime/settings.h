#pragma once
/// What the environment asks of the emulator (README.md lists the variables).
#include <cstdint>
#include <string>
#include <vector>

namespace attune::emulator {

/// "The nth call of this name fails", on one rank or on all.
struct PlantedFailure {
  std::string call;
  std::uint64_t nth = 1;
  int rank = -1;   ///< -1: every rank
  int error = -1;  ///< a cudaError_t, or -1 for the usual one of the call
};

struct Settings {
  int devices = 8;                       ///< ATTUNE_EMULATOR_DEVICES: physical devices, at most 14
  std::vector<int> visible;              ///< CUDA_VISIBLE_DEVICES: physical device of each ordinal
  int multiprocessors = 16;              ///< ATTUNE_EMULATOR_SMS
  int architecture = 90;                 ///< ATTUNE_EMULATOR_ARCH: 10 * major + minor
  std::uint64_t memory = 0;              ///< ATTUNE_EMULATOR_MEMORY, in MiB there, in bytes here
  std::uint64_t seed = 1;                ///< ATTUNE_EMULATOR_SEED: of delays and of the order of threads
  bool reuse = false;                    ///< ATTUNE_EMULATOR_REUSE=1: released addresses are given out again
  std::vector<bool> peer;                ///< ATTUNE_EMULATOR_PEERS: [from * devices + to] may access
  std::vector<bool> broken;              ///< ATTUNE_EMULATOR_BROKEN_PEERS: says that it may, and delivers other data
  std::vector<PlantedFailure> failures;  ///< ATTUNE_EMULATOR_FAIL
  std::string trace;                     ///< ATTUNE_EMULATOR_TRACE: file that gets the number of calls of each name
  std::vector<std::string> kernels;      ///< ATTUNE_EMULATOR_KERNELS: libraries of host-compiled kernels
  int rank = 0;                          ///< of the launcher (Open MPI or PMI), else 0

  [[nodiscard]] bool may_access(int from, int to) const {
    return from == to || peer[static_cast<std::size_t>(from * devices + to)];
  }
  [[nodiscard]] bool delivers(int from, int to) const {
    return from == to || !broken[static_cast<std::size_t>(from * devices + to)];
  }
};

/// Read once. Ends the process with one line when a variable is malformed: a test would mean something else.
const Settings& settings();

}  // namespace attune::emulator
