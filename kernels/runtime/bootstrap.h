#pragma once
/// How ranks meet before they share memory: the few collective steps that set-up needs. Not for hot paths.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace attune {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Are the ranks threads of one process?
  [[nodiscard]] virtual bool one_process() const = 0;
  /// Every rank's `bytes` at `mine`, in rank order, to `all` (size() × bytes). Collective.
  virtual void allgather(const void* mine, void* all, std::size_t bytes) = 0;
  /// Collective.
  virtual void barrier() = 0;

  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& mine) {
    std::vector<T> all(static_cast<std::size_t>(size()));
    allgather(&mine, all.data(), sizeof(T));
    return all;
  }
};

/// Collective agreement on failure: when `error` is not empty on some rank, every rank throws Error(device) with the
/// first of them, so that no rank is left waiting for one that has given up.
void throw_together(Bootstrap& bootstrap, const std::string& error, const std::string& remedy);

/// Throws Error(unsupported) unless a team may have that many ranks.
void require_team_size(int ranks);

/// The bootstraps of n threads of this process; give one to each. A thread whose bootstrap is gone is not waited for:
/// the others get Error(internal) that names it.
[[nodiscard]] std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int n);

}  // namespace attune
