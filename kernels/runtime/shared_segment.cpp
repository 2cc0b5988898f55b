#include "runtime/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"

namespace attune::host {

namespace {
constexpr std::align_val_t page_aligned{4096};

/// Where a rank's thread keeps its region, for the others to read.
struct Place {
  const std::shared_ptr<std::byte>* owner;
};

std::string unique_name() {
  static std::atomic<unsigned> serial{0};
  return fmt::format("/attune-{}-{}", ::getpid(), serial.fetch_add(1));
}

/// Maps an open shared memory object; nullptr when the system refuses.
std::byte* map(int file, Bytes bytes) {
  void* at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // helps where shmem_enabled=advise; else no harm
  return static_cast<std::byte*>(at);
}

/// Creates, sizes and really allocates the object: on a full /dev/shm this fails here, not later with SIGBUS.
std::string create(const std::string& name, Bytes bytes, std::byte** at) {
  const int file = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return fmt::format("cannot create shared memory {}: {}", name, std::strerror(errno));
  int code = ::ftruncate(file, bytes) == 0 ? 0 : errno;
  if (code == 0) code = ::posix_fallocate(file, 0, bytes);
  if (code == 0) *at = map(file, bytes);
  if (code == 0 && *at == nullptr) code = errno;
  ::close(file);
  if (code == 0) return {};
  ::shm_unlink(name.c_str());
  struct statvfs space {};
  const bool known = ::statvfs("/dev/shm", &space) == 0;
  const auto free = known ? static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) / 1048576.0 : 0.0;
  return fmt::format("shared memory: {:.1f} MiB needed by this rank, {:.1f} MiB free in /dev/shm ({})",
                     static_cast<double>(bytes) / 1048576.0, free, std::strerror(code));
}
}  // namespace

SharedSegment::SharedSegment(Bootstrap& bootstrap, Bytes bytes)
    : rank_(bootstrap.rank()), ranks_(bootstrap.size()), one_process_(bootstrap.one_process()) {
  const auto sizes = bootstrap.gather(bytes);
  for (std::size_t r = 0; r < sizes.size(); ++r) bytes_[r] = sizes[r] > 0 ? sizes[r] : 1;
  const Bytes mine = bytes_[static_cast<std::size_t>(rank_)];
  if (one_process_) {
    share_within_process(bootstrap, mine);
  } else {
    share_between_processes(bootstrap, mine);
  }
}

void SharedSegment::share_within_process(Bootstrap& bootstrap, Bytes bytes) {
  std::string error;
  auto* mine = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), page_aligned, std::nothrow));
  if (mine == nullptr) error = fmt::format("cannot allocate {} bytes for rank {}", bytes, rank_);
  if (mine != nullptr) std::memset(mine, 0, static_cast<std::size_t>(bytes));
  const std::shared_ptr<std::byte> owner(mine, [](std::byte* at) { ::operator delete(at, page_aligned); });
  throw_together(bootstrap, error, "use smaller buffers");
  const auto all = bootstrap.gather(Place{&owner});
  for (std::size_t r = 0; r < all.size(); ++r) {
    kept_[r] = *all[r].owner;
    base_[r] = kept_[r].get();
  }
  bootstrap.barrier();  // everybody has read `owner`
}

void SharedSegment::share_between_processes(Bootstrap& bootstrap, Bytes bytes) {
  const std::string name = unique_name();
  std::string error = create(name, bytes, &base_[static_cast<std::size_t>(rank_)]);
  const std::string remedy = "enlarge /dev/shm (in a container: --shm-size) or use smaller buffers";
  const bool mine_exists = error.empty();
  try {
    throw_together(bootstrap, error, remedy);
    std::array<char, 64> text{};
    name.copy(text.data(), text.size() - 1);
    const auto names = bootstrap.gather(text);
    for (int r = 0; r < ranks_ && error.empty(); ++r) {
      if (r == rank_) continue;
      const int file = ::shm_open(names[static_cast<std::size_t>(r)].data(), O_RDWR, 0);
      if (file >= 0) base_[static_cast<std::size_t>(r)] = map(file, bytes_[static_cast<std::size_t>(r)]);
      if (base_[static_cast<std::size_t>(r)] == nullptr)
        error = fmt::format("rank {} cannot map the memory of rank {}: {}", rank_, r, std::strerror(errno));
      if (file >= 0) ::close(file);
    }
    throw_together(bootstrap, error, "all ranks must run as one user in one /dev/shm");
  } catch (...) {
    if (mine_exists) ::shm_unlink(name.c_str());
    unmap();  // no destructor runs, and what stays mapped stays allocated
    throw;
  }
  ::shm_unlink(name.c_str());  // everybody has it mapped: nothing is left behind, whatever happens
}

SharedSegment::~SharedSegment() {
  if (!one_process_) unmap();
}

void SharedSegment::unmap() {
  for (std::size_t r = 0; r < base_.size(); ++r)
    if (base_[r] != nullptr) ::munmap(base_[r], static_cast<std::size_t>(bytes_[r]));
}

}  // namespace attune::host
