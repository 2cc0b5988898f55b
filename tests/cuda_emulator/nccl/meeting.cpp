#include "meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace attune::fake_nccl {
namespace {

constexpr std::size_t head = 4096;
constexpr auto patience = std::chrono::seconds(60);

template <class Condition>
bool comes(Condition condition) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start > patience) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

Meeting::Meeting(const std::string& name, int rank, int ranks) : ranks_(ranks) {
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  const std::size_t bytes = head + static_cast<std::size_t>(ranks) * room;
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return;
  shared_ = static_cast<Shared*>(at);  // zeros are its beginning
  slots_ = static_cast<std::byte*>(at) + head;
  ++shared_->attached;
  if (!comes([&] { return shared_->attached == static_cast<unsigned>(ranks_); })) leave();
  if (rank == 0) shm_unlink(name.c_str());
}

bool Meeting::barrier() {
  const unsigned mine = shared_->round;
  if (++shared_->arrived == static_cast<unsigned>(ranks_)) {
    shared_->arrived = 0;
    ++shared_->round;
  }
  if (!comes([&] { return shared_->round != mine || shared_->gone != 0; })) leave();
  return shared_->round != mine;
}

void Meeting::leave() {
  if (shared_ != nullptr) shared_->gone = 1;
}

}  // namespace attune::fake_nccl
