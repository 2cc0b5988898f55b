#pragma once
/// One rank's team on some device, as the public API sees it: what the devices have in common.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/hardware.h"
#include "core/plan.h"
#include "runtime/bootstrap.h"
#include "runtime/call.h"
#include "runtime/host_topology.h"
#include "runtime/norm_call.h"
#include "runtime/stores.h"

namespace attune {

class MpiBootstrap;

/// What a team of any device is made with.
struct BackendOptions {
  double timeout_s = 30;                  ///< Limit of every wait; 0 = none.
  Bytes scratch_bytes = Bytes{16} << 20;  ///< Per rank and region.
  Stores stores = Stores::tried;          ///< host: how ranks store what their peers will read.
  std::uint32_t first_epoch = 0;          ///< host: where flags begin to count; tests start near the wrap at 2^32.
  host::Domains domains = {};             ///< host: equal on all ranks.
  int gpu = -1;                           ///< cuda: this device; -1 = by local rank.
  bool register_captured = true;          ///< cuda: see Communicator::complete_capture.
  MpiBootstrap* mpi = nullptr;            ///< The bootstrap, when it is one of MPI; null for threads.
  std::function<void(const std::string&)> log = {};  ///< Decisions of the runtime (why there is no peer access, …).
};

/// A call that a backend has prepared for being made again: run() does what Backend::run does, without looking at it.
struct PreparedCall {
  PreparedCall() = default;
  virtual ~PreparedCall() = default;
  virtual void run() = 0;
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;
};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  [[nodiscard]] virtual DeviceKind device() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual bool oversubscribed() const = 0;

  /// Collective, as release is.
  [[nodiscard]] virtual std::byte* allocate(Bytes bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  [[nodiscard]] virtual bool registered(const void* memory, Bytes bytes) const = 0;
  /// The caller's own memory, made addressable for peers. Collective. Throws Error(unsupported) on all ranks where that
  /// is not possible.
  virtual void register_buffer(void* memory, Bytes bytes) = 0;
  virtual void deregister_buffer(void* memory) = 0;

  /// Empty, or why this variant (`vendor:…` included) cannot run here; equal on all ranks.
  [[nodiscard]] virtual std::string why_not(std::string_view variant) const = 0;
  /// `variant`: the plan's, as its index in variant_table.
  virtual void run(std::size_t variant, const AllreduceCall& call, const Plan& plan) = 0;
  virtual void run(const NormCall& call, const Plan& plan) = 0;
  /// Null where there is nothing to prepare. Valid until memory is allocated, released, registered or deregistered.
  [[nodiscard]] virtual std::unique_ptr<PreparedCall> prepare(std::size_t /*variant*/, const AllreduceCall& /*call*/,
                                                              const Plan& /*plan*/) {
    return nullptr;
  }

  /// Is this stream being captured? Never on host.
  [[nodiscard]] virtual bool capturing(void* /*stream*/) const { return false; }
  virtual void complete_capture() {}
  /// Waits for the calls on this stream and throws what went wrong in them.
  virtual void synchronize(void* /*stream*/) {}
  /// Blocking copy between any two of the caller's memory and the device's.
  virtual void copy(void* to, const void* from, Bytes bytes) = 0;
};

/// Index in variant_table of an allreduce variant. Throws Error(usage) for others.
[[nodiscard]] std::size_t allreduce_index(std::string_view name);

namespace host {
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::unique_ptr<Bootstrap> bootstrap,
                                                    const BackendOptions& options);
}

}  // namespace attune
