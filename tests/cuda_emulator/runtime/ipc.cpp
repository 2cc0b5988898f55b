/// Memory of other processes: what a handle holds, and what real handles refuse.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "device.h"
#include "memory.h"
#include "stream.h"

using namespace attune::emulator;

namespace {

constexpr std::uint64_t magic = 0x61747475'6E656970;

struct Handle {
  std::uint64_t magic;
  std::uint64_t serial;
  std::uint64_t inode;  ///< tells a file descriptor that was given to another file
  std::uint64_t size;
  std::uint64_t offset;
  std::int32_t process;
  std::int32_t fd;
  std::int32_t owner;  ///< physical device
  std::int32_t unused;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

struct Opened {
  std::mutex mutex;
  std::map<std::pair<int, std::uint64_t>, Allocation*> by_origin;  ///< (process, serial)
};
Opened& opened() {
  static auto* const all = new Opened;
  return *all;
}

std::uint64_t inode_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/// Maps the owner's memory, or, where access is claimed and does not work, memory of nobody's.
std::byte* map(const Handle& h, const Device& mine, Allocation* a) {
  const std::size_t bytes = whole_pages(h.offset + h.size);
  if (!settings().delivers(mine.physical, h.owner)) {
    std::byte* at = map_between_guards(-1, bytes, a);
    if (at) std::memset(at, 0xBD, bytes);
    return at;
  }
  const std::string path = "/proc/" + std::to_string(h.process) + "/fd/" + std::to_string(h.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  std::byte* at = inode_of(fd) == h.inode ? map_between_guards(fd, bytes, a) : nullptr;
  close(fd);
  return at;
}

cudaError_t open_handle(void** pointer, const Handle& h) {
  Device& mine = current_device();
  if (h.magic != magic) return cudaErrorInvalidValue;
  if (h.process == getpid()) return cudaErrorDeviceUninitialized;
  if (!settings().may_access(mine.physical, h.owner)) return cudaErrorPeerAccessUnsupported;
  auto& all = opened();
  const std::lock_guard lock(all.mutex);
  auto& known = all.by_origin[{h.process, h.serial}];
  if (known) {
    ++known->references;
    *pointer = known->base;
    return cudaSuccess;
  }
  auto* a = new Allocation{.size = h.size, .kind = Kind::imported, .device = mine.ordinal, .owner = h.owner};
  std::byte* at = map(h, mine, a);
  if (!at) {
    all.by_origin.erase({h.process, h.serial});
    delete a;
    return cudaErrorMapBufferObjectFailed;
  }
  a->base = at + h.offset;
  protect(at, a->reserved_size - 2 * 4096, h.owner);
  mine.reachable |= 1U << static_cast<unsigned>(h.owner);
  enlist(a);
  known = a;
  *pointer = a->base;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return call(__func__, [&] {
    const Allocation* a = find(pointer);
    // Not for memory of pools, of the virtual memory API, of the host, or of another process.
    if (!a || a->kind != Kind::device) return cudaErrorInvalidValue;
    const Handle h{magic,    a->serial, inode_of(a->fd), a->size, a->offset, static_cast<std::int32_t>(getpid()), a->fd,
                   a->owner, 0};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &h, sizeof h);
    return cudaSuccess;
  });
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  return call(__func__, [&] {
    if (flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    if (const auto error = refuse_while_capturing(); error != cudaSuccess) return error;
    Handle h{};
    std::memcpy(&h, &handle, sizeof h);
    return open_handle(pointer, h);
  });
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return call(__func__, [&] {
    auto& all = opened();
    const std::lock_guard lock(all.mutex);
    Allocation* a = find(pointer);
    if (!a || a->kind != Kind::imported || a->base != pointer) return cudaErrorInvalidValue;
    if (--a->references > 0) return cudaSuccess;
    wait_for_device(device(a->device));
    for (auto it = all.by_origin.begin(); it != all.by_origin.end();)
      it = it->second == a ? all.by_origin.erase(it) : std::next(it);
    release(a);
    return cudaSuccess;
  });
}
}
