#pragma once
/// What streams and captures share. All under one lock.
#include <array>
#include <condition_variable>
#include <mutex>
#include <set>

#include "stream.h"

namespace attune::emulator {

struct Streams {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Stream*> live;
  std::array<Stream*, 16> defaults{};
};
Streams& streams();

// With the lock held.
cudaError_t add_node(Stream& stream, Work work);
cudaError_t join_capture(Stream& stream, const Event& event);
[[nodiscard]] bool global_capture_under_way(const Stream& stream);

}  // namespace attune::emulator
