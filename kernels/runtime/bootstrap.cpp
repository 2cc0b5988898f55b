#include "runtime/bootstrap.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/types.h"

namespace attune {

void throw_together(Bootstrap& bootstrap, const std::string& error, const std::string& remedy) {
  std::array<char, 384> mine{};
  error.copy(mine.data(), mine.size() - 1);
  for (const auto& text : bootstrap.gather(mine))
    if (text[0] != '\0') throw Error(Status::device, text.data(), remedy);
}

void require_team_size(int ranks) {
  if (ranks < 1 || ranks > max_ranks)
    throw Error(Status::unsupported,
                "a team has 1 to " + std::to_string(max_ranks) + " ranks, not " + std::to_string(ranks),
                "launch fewer ranks, or make communicators of up to " + std::to_string(max_ranks));
}

namespace {
/// What the threads of a local team share. A thread that has left for good, because it failed or is done, is never
/// waited for.
class LocalMeeting {
 public:
  explicit LocalMeeting(int n) : from(static_cast<std::size_t>(n)), missing_(n) {}

  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) {
      missing_ = static_cast<int>(from.size());
      ++round_;
      changed_.notify_all();
      return;
    }
    const unsigned mine = round_;
    changed_.wait(lock, [&] { return round_ != mine || gone_ >= 0; });
    if (round_ != mine) return;
    ++missing_;  // without the one that has left, this round is never complete
    throw Error(Status::internal, "rank " + std::to_string(gone_) + " of this local team has left it",
                "see the error of that rank");
  }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (gone_ < 0) gone_ = rank;
    changed_.notify_all();
  }

  std::vector<const void*> from;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int missing_;
  int gone_ = -1;  ///< The first rank that has left.
  unsigned round_ = 0;
};

class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(std::shared_ptr<LocalMeeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~LocalBootstrap() override { meeting_->leave(rank_); }
  LocalBootstrap(const LocalBootstrap&) = delete;
  LocalBootstrap& operator=(const LocalBootstrap&) = delete;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(meeting_->from.size()); }
  [[nodiscard]] bool one_process() const override { return true; }
  void allgather(const void* mine, void* all, std::size_t bytes) override {
    meeting_->from[static_cast<std::size_t>(rank_)] = mine;
    meeting_->arrive_and_wait();
    for (std::size_t r = 0; r < meeting_->from.size(); ++r)
      std::memcpy(static_cast<std::byte*>(all) + r * bytes, meeting_->from[r], bytes);
    meeting_->arrive_and_wait();
  }
  void barrier() override { meeting_->arrive_and_wait(); }

 private:
  std::shared_ptr<LocalMeeting> meeting_;
  int rank_;
};
}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int n) {
  auto meeting = std::make_shared<LocalMeeting>(n);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (int r = 0; r < n; ++r) ranks.push_back(std::make_unique<LocalBootstrap>(meeting, r));
  return ranks;
}

}  // namespace attune
