#pragma once
/// A call of a host team, ready to run: all that stays the same when it is made again.
#include <array>
#include <cstddef>
#include <memory>

#include "device/epilogue.h"
#include "device/host_launch.h"
#include "runtime/backend.h"
#include "runtime/store_trial.h"

namespace attune::host {

class HostTeam;

struct HostCall final : PreparedCall {
  explicit HostCall(HostTeam& made_for) : team(made_for) {}
  void run() override;

  HostTeam& team;
  Kernel kernel = nullptr;
  Launch launch;
  bool in_band = false;              ///< Every run takes a number of its own.
  const std::byte* input = nullptr;  ///< If not null, copied to launch.local_in first.
  std::byte* output = nullptr;       ///< If not null, copied from launch.local_out at the end.
  std::size_t bytes = 0;             ///< Of both.
  CallerArguments callers;
  StoreTrial* trial = nullptr;  ///< Of calls like this one; null where the size tells how to store.

  /// The epilogue that the kernel finds: of the call's dtype, whatever that is.
  template <class T>
  void set_epilogue(const AnyEpilogue<T>& epilogue) {
    static_assert(sizeof epilogue == sizeof epilogue_);
    std::construct_at(reinterpret_cast<AnyEpilogue<T>*>(epilogue_.data()), epilogue);
  }
  [[nodiscard]] const void* epilogue() const { return epilogue_.data(); }

 private:
  alignas(AnyEpilogue<double>) std::array<std::byte, sizeof(AnyEpilogue<double>)> epilogue_{};
};

}  // namespace attune::host
