#pragma once
/// Memory that kernels see. Device memory is a memfd, so that other processes can map it by /proc/PID/fd; it lies
/// between guard pages, is filled with 0xFF (NaN, -1) when fresh, and is out of reach of host code where the
/// processor has protection keys.
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "device.h"

namespace attune::emulator {

enum class Kind { device, pool, imported, mapped, host, registered };

struct Allocation {
  std::byte* base = nullptr;
  std::size_t size = 0;
  Kind kind = Kind::device;
  int device = 0;                 ///< ordinal it belongs to
  int owner = 0;                  ///< physical device that holds it
  int fd = -1;                    ///< memfd of device memory
  std::size_t offset = 0;         ///< of base in the memfd
  std::byte* reserved = nullptr;  ///< addresses, guard pages included
  std::size_t reserved_size = 0;
  std::uint64_t serial = 0;
  int references = 1;  ///< of an imported one

  [[nodiscard]] bool on_device() const { return kind != Kind::host && kind != Kind::registered; }
  [[nodiscard]] bool contains(const void* p) const {
    const auto* at = static_cast<const std::byte*>(p);
    return at >= base && at < base + size;
  }
};

/// Null when there is no room: neither in the device's memory nor on this machine.
Allocation* allocate(Device& device, std::size_t size, Kind kind);
/// Waits for nothing; the addresses fault from now on.
void release(Allocation* allocation);
/// Host memory that already exists.
Allocation* adopt(void* base, std::size_t size, Device& device);
/// The allocation that holds p (not one past its end), or null.
[[nodiscard]] Allocation* find(const void* p);
/// Lists an allocation that somebody else has mapped.
void enlist(Allocation* allocation);
void forget(Allocation* allocation);

/// Device memory of `owner` becomes readable for kernels (and copies) that may reach it, and for nobody else.
void protect(void* base, std::size_t size, int owner);
/// The calling thread may touch the memory of these physical devices (a bit each).
void may_touch(std::uint32_t physical);
inline constexpr std::uint32_t all_devices = ~0U;
[[nodiscard]] std::uint32_t touchable();
/// Everything, for the length of a scope.
class Touching {
 public:
  Touching() : before_(touchable()) { may_touch(all_devices); }
  ~Touching() { may_touch(before_); }
  Touching(const Touching&) = delete;
  Touching& operator=(const Touching&) = delete;

 private:
  std::uint32_t before_;
};

/// Reserves addresses between two guard pages and maps `pages` bytes of `fd` there (of nothing, when fd is -1).
std::byte* map_between_guards(int fd, std::size_t bytes, Allocation* allocation);
[[nodiscard]] std::size_t whole_pages(std::size_t bytes);

}  // namespace attune::emulator
