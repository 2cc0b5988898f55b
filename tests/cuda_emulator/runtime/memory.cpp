#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "random.h"

namespace attune::emulator {
namespace {

constexpr std::size_t page = 4096, alignment = 256;
constexpr int fresh = 0xFF;

struct Registry {
  std::mutex mutex;
  std::map<const std::byte*, Allocation*> by_base;
  std::multimap<std::size_t, std::byte*> released;  ///< address ranges by size, for ATTUNE_EMULATOR_REUSE
  std::uint64_t serial = 0;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

/// A protection key for each physical device; none where the processor has none.
std::array<int, 16> make_keys() {
  std::array<int, 16> keys;
  keys.fill(-1);
  for (int d = 0; d < settings().devices; ++d) keys[static_cast<std::size_t>(d)] = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return keys;
}
const std::array<int, 16>& keys() {
  static const auto all = make_keys();
  return all;
}

/// Bytes that lie behind the last one that was asked for must still be fresh.
void check_margin(const Allocation& a) {
  const std::size_t end = (a.size + alignment - 1) / alignment * alignment;
  const Touching touching;
  for (std::size_t k = a.size; k < end; ++k)
    if (a.base[k] != std::byte{fresh}) {
      std::fprintf(stderr, "emulated: a kernel has written behind the %zu bytes at %p\n", a.size,
                   static_cast<void*>(a.base));
      std::abort();
    }
}

std::byte* reserve(std::size_t bytes) {
  auto& all = registry();
  if (settings().reuse) {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.released.find(bytes); found != all.released.end()) {
      auto* at = found->second;
      all.released.erase(found);
      return at;
    }
  }
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

void protect(void* base, std::size_t size, int owner) {
  const int key = keys()[static_cast<std::size_t>(owner)];
  if (key >= 0) pkey_mprotect(base, size, PROT_READ | PROT_WRITE, key);
}

namespace {
thread_local std::uint32_t rights = 0;
}  // namespace

std::uint32_t touchable() { return rights; }
void may_touch(std::uint32_t physical) {
  rights = physical;
  for (int d = 0; d < settings().devices; ++d) {
    const int key = keys()[static_cast<std::size_t>(d)];
    if (key >= 0) pkey_set(key, (physical >> static_cast<unsigned>(d) & 1U) != 0 ? 0 : PKEY_DISABLE_ACCESS);
  }
}

std::byte* map_between_guards(int fd, std::size_t bytes, Allocation* allocation) {
  const std::size_t all = bytes + 2 * page;
  std::byte* at = reserve(all);
  if (!at) return nullptr;
  const int flags = MAP_FIXED | (fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED);
  if (mmap(at + page, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED) return nullptr;
  allocation->reserved = at;
  allocation->reserved_size = all;
  return at + page;
}

Allocation* allocate(Device& device, std::size_t size, Kind kind) {
  const bool on_device = kind != Kind::host;
  if (on_device && device.allocated + size > settings().memory) return nullptr;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment, bytes = whole_pages(rounded);
  auto* a = new Allocation{.size = size, .kind = kind, .device = device.ordinal, .owner = device.physical};
  if (on_device) {
    a->fd = memfd_create("attune_emulator", MFD_CLOEXEC);
    if (a->fd < 0 || ftruncate(a->fd, static_cast<off_t>(bytes)) != 0) return nullptr;
  }
  std::byte* at = map_between_guards(a->fd, bytes, a);
  if (!at) return nullptr;
  // Half of them end at the guard page, half begin there: both ends are watched.
  a->offset = draw("placement") % 2 == 0 ? 0 : bytes - rounded;
  a->base = at + a->offset;
  constexpr std::size_t most = std::size_t{16} << 20U;
  std::memset(a->base, fresh, rounded < most ? rounded : most);
  if (rounded > most) std::memset(a->base + rounded - alignment, fresh, alignment);
  if (on_device) {
    protect(at, bytes, a->owner);
    device.allocated += size;
  }
  enlist(a);
  return a;
}

void release(Allocation* a) {
  if (a->kind == Kind::device || a->kind == Kind::pool) check_margin(*a);
  forget(a);
  if (a->on_device() && a->kind != Kind::imported) device(a->device).allocated -= a->size;
  if (a->reserved) {
    mmap(a->reserved, a->reserved_size, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const std::lock_guard lock(registry().mutex);
    if (settings().reuse) registry().released.emplace(a->reserved_size, a->reserved);
  }
  if (a->fd >= 0) close(a->fd);
  delete a;
}

Allocation* adopt(void* base, std::size_t size, Device& device) {
  auto* a = new Allocation{.base = static_cast<std::byte*>(base), .size = size, .kind = Kind::registered};
  a->device = device.ordinal;
  enlist(a);
  return a;
}

void enlist(Allocation* a) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  a->serial = ++all.serial;
  all.by_base[a->base] = a;
}
void forget(Allocation* a) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  all.by_base.erase(a->base);
}
Allocation* find(const void* p) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  auto next = all.by_base.upper_bound(static_cast<const std::byte*>(p));
  if (next == all.by_base.begin()) return nullptr;
  Allocation* a = std::prev(next)->second;
  return a->contains(p) ? a : nullptr;
}

}  // namespace attune::emulator
