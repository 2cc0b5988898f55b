#pragma once
/// The ranks of a test besides the communicator under test: how they compare notes. Threads of this process, or the
/// processes of an mpirun.
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "attune/attune.hpp"

namespace attune::conformance {

/// What a rank says after a case.
struct Note {
  std::uint64_t hash = 0;
  std::array<char, 496> error{};  ///< Empty = all is well.
};

class Crew {
 public:
  virtual ~Crew() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  /// Is there an MPI below the communicators, and so a vendor?
  [[nodiscard]] virtual bool has_vendor() const = 0;
  /// A communicator over all ranks; in several domains, unless the options say which. Collective.
  [[nodiscard]] virtual Communicator communicator(const Options& options) = 0;
  /// Everybody's note: the first error of any rank, with the rank, or "" and whether all hashes are equal. Collective.
  [[nodiscard]] virtual std::array<Note, max_ranks> gather(const Note& mine) = 0;

  /// The first error of any rank, or "" when there is none. Collective.
  [[nodiscard]] std::string first_error(const std::string& mine) { return judge(mine, 0, false); }
  /// The same, where different hashes on two ranks are an error as well. Collective.
  [[nodiscard]] std::string first_error(const std::string& mine, std::uint64_t hash) { return judge(mine, hash, true); }

 private:
  std::string judge(const std::string& mine, std::uint64_t hash, bool compare);
};

/// Runs body(crew) on `ranks` threads. When a rank throws, its team cannot be cleaned up: the error is printed and
/// the process ends at once with status 1.
void with_local_crew(int ranks, const std::function<void(Crew&)>& body);

/// Hash of a run of bytes.
[[nodiscard]] std::uint64_t hash_of(const void* data, Bytes bytes);

}  // namespace attune::conformance
