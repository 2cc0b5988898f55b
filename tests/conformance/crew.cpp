#include "crew.h"

#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "domains.h"
#include "random.h"

namespace attune::conformance {

std::string Crew::judge(const std::string& mine, std::uint64_t hash, bool compare) {
  Note note{hash, {}};
  mine.copy(note.error.data(), note.error.size() - 1);
  const auto all = gather(note);
  for (int r = 0; r < ranks(); ++r) {
    const auto& said = all[static_cast<std::size_t>(r)];
    if (said.error[0] != '\0') return "rank " + std::to_string(r) + ": " + said.error.data();
  }
  for (int r = 1; compare && r < ranks(); ++r)
    if (all[static_cast<std::size_t>(r)].hash != all[0].hash)
      return "ranks 0 and " + std::to_string(r) + " got different bits";
  return {};
}

namespace {

struct Table {
  explicit Table(int ranks) : gate(ranks), bootstraps(make_local_bootstraps(ranks)) {}
  std::barrier<> gate;
  std::array<Note, max_ranks> note;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps;
};

class LocalCrew final : public Crew {
 public:
  LocalCrew(Table& table, int rank, int ranks) : table_(table), rank_(rank), ranks_(ranks) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bool has_vendor() const override { return false; }
  [[nodiscard]] Communicator communicator(const Options& options) override {
    if (rank_ == 0) table_.bootstraps = make_local_bootstraps(ranks_);
    table_.gate.arrive_and_wait();
    auto mine = std::move(table_.bootstraps[static_cast<std::size_t>(rank_)]);
    table_.gate.arrive_and_wait();
    auto grouped = options;
    if (grouped.domains.empty()) grouped.domains = several_domains(ranks_);
    return Communicator(std::move(mine), grouped);
  }
  [[nodiscard]] std::array<Note, max_ranks> gather(const Note& mine) override {
    table_.note[static_cast<std::size_t>(rank_)] = mine;
    table_.gate.arrive_and_wait();
    auto all = table_.note;
    table_.gate.arrive_and_wait();
    return all;
  }

 private:
  Table& table_;
  int rank_;
  int ranks_;
};

}  // namespace

void with_local_crew(int ranks, const std::function<void(Crew&)>& body) {
  Table table(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        LocalCrew crew(table, r, ranks);
        body(crew);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "FAILED: rank %d of %d threw: %s\n", r, ranks, error.what());
        ::_exit(1);
      }
    });
  for (auto& thread : threads) thread.join();
}

std::uint64_t hash_of(const void* data, Bytes bytes) {
  std::uint64_t state = mix(static_cast<std::uint64_t>(bytes));
  const auto* at = static_cast<const std::byte*>(data);
  for (Bytes done = 0; done < bytes; done += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + done, static_cast<std::size_t>(bytes - done < 8 ? bytes - done : 8));
    state = mix(state ^ word);
  }
  return state;
}

}  // namespace attune::conformance
