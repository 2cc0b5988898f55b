#pragma once
/// Where the processes of one communicator meet: memory that they share, with a slot for each.
#include <atomic>
#include <cstddef>
#include <string>

namespace attune::fake_nccl {

class Meeting {
 public:
  static constexpr std::size_t room = std::size_t{1} << 20U;  ///< Of a slot.

  /// Collective: waits until all have come. `good()` is false when that lasts too long.
  Meeting(const std::string& name, int rank, int ranks);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] bool good() const { return shared_ != nullptr && shared_->gone == 0; }
  [[nodiscard]] std::byte* slot(int rank) const { return slots_ + static_cast<std::size_t>(rank) * room; }
  /// False when a rank has gone, or does not come for long.
  [[nodiscard]] bool barrier();
  /// Nobody waits for this communicator any more.
  void leave();

 private:
  struct Shared {
    std::atomic<unsigned> attached, arrived, round, gone;
  };
  int ranks_;
  Shared* shared_ = nullptr;
  std::byte* slots_ = nullptr;
};

}  // namespace attune::fake_nccl
