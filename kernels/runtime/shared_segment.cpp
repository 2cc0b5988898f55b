#include "runtime/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"
#include "runtime/node_memory.h"

namespace attune::host {

namespace {
constexpr std::align_val_t page_aligned{4096};
constexpr const char* remedy = "enlarge /dev/shm (in a container: --shm-size) or use smaller buffers";

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

/// Sizes an open object and really allocates it: on a full /dev/shm this fails here, not later with SIGBUS. By its
/// owner alone, before any peer can reach it: pages lie on the NUMA node of who asks for them first.
std::string fill(int file, Bytes bytes, std::byte** at) {
  int code = ::ftruncate(file, bytes) == 0 ? 0 : errno;
  if (code == 0) code = ::posix_fallocate(file, 0, bytes);
  if (code == 0) *at = map(file, bytes);
  if (code == 0 && *at == nullptr) code = errno;
  if (code == 0) return {};
  const Bytes free = node_memory().shared;
  return fmt::format(
      "shared memory: {} needed by this rank, {} free in /dev/shm ({})", readable_amount(static_cast<double>(bytes)),
      free == unknown_bytes ? "an unknown amount" : readable_amount(static_cast<double>(free)), std::strerror(code));
}

/// The open objects of all ranks, while they are shared out.
struct Files {
  std::array<int, max_ranks> of;
  Files() { of.fill(-1); }
  ~Files() {
    for (const int file : of)
      if (file >= 0) ::close(file);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
};

/// Every rank makes an object and opens those of the others. The names are gone before anything is allocated: whatever
/// ends a rank from then on, nothing of it stays behind in /dev/shm.
void open_all(Bootstrap& bootstrap, Files& files) {
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  const std::string name = unique_name();
  files.of[me] = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  const bool made = files.of[me] >= 0;
  std::string error = made ? "" : fmt::format("cannot create shared memory {}: {}", name, std::strerror(errno));
  std::array<char, 64> text{};
  name.copy(text.data(), text.size() - 1);
  try {
    throw_together(bootstrap, error, "check that /dev/shm can be written");
    const auto names = bootstrap.gather(text);
    for (std::size_t r = 0; r < names.size() && error.empty(); ++r) {
      if (r == me) continue;
      files.of[r] = ::shm_open(names[r].data(), O_RDWR, 0);
      if (files.of[r] < 0)
        error = fmt::format("rank {} cannot open the memory of rank {}: {}", me, r, std::strerror(errno));
    }
    throw_together(bootstrap, error, "all ranks must run as one user in one /dev/shm");
  } catch (...) {
    if (made) ::shm_unlink(name.c_str());
    throw;
  }
  ::shm_unlink(name.c_str());
}
}  // namespace

SharedSegment::SharedSegment(Bootstrap& bootstrap, Bytes bytes)
    : rank_(bootstrap.rank()), ranks_(bootstrap.size()), one_process_(bootstrap.one_process()) {
  require_team_size(ranks_);
  agree_on_sizes(bootstrap, bytes);
  const Bytes mine = bytes_[static_cast<std::size_t>(rank_)];
  if (one_process_) {
    share_within_process(bootstrap, mine);
  } else {
    share_between_processes(bootstrap, mine);
  }
}

/// All ranks judge by the same numbers, taken before anybody allocates.
void SharedSegment::agree_on_sizes(Bootstrap& bootstrap, Bytes bytes) {
  struct Mine {
    Bytes bytes;
    NodeMemory memory;
  };
  const auto all = bootstrap.gather(Mine{bytes, node_memory()});
  double needed = 0;
  NodeMemory least;
  for (std::size_t r = 0; r < all.size(); ++r) {
    bytes_[r] = std::max<Bytes>(all[r].bytes, 1);
    needed += static_cast<double>(bytes_[r]);
    least.available = std::min(least.available, all[r].memory.available);
    least.shared = std::min(least.shared, all[r].memory.shared);
  }
  if (const std::string reason = why_too_much(needed, !one_process_, least); !reason.empty())
    throw Error(Status::device,
                fmt::format("shared memory: {} needed by the {} ranks of this node, {}", readable_amount(needed),
                            ranks_, reason),
                remedy);
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
  Files files;
  open_all(bootstrap, files);
  std::string error = fill(files.of[static_cast<std::size_t>(rank_)], bytes, &base_[static_cast<std::size_t>(rank_)]);
  try {
    throw_together(bootstrap, error, remedy);
    for (int r = 0; r < ranks_ && error.empty(); ++r) {
      const auto peer = static_cast<std::size_t>(r);
      if (r != rank_) base_[peer] = map(files.of[peer], bytes_[peer]);
      if (base_[peer] == nullptr)
        error = fmt::format("rank {} cannot map the memory of rank {}: {}", rank_, r, std::strerror(errno));
    }
    throw_together(bootstrap, error, "raise the limit of virtual memory (ulimit -v), or use smaller buffers");
  } catch (...) {
    unmap();  // no destructor runs, and what stays mapped stays allocated
    throw;
  }
}

SharedSegment::~SharedSegment() {
  if (!one_process_) unmap();
}

void SharedSegment::unmap() {
  for (std::size_t r = 0; r < base_.size(); ++r)
    if (base_[r] != nullptr) ::munmap(base_[r], static_cast<std::size_t>(bytes_[r]));
}

}  // namespace attune::host
