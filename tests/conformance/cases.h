#pragma once
/// One random allreduce, everything about it a function of a seed: how it is drawn, described, run and checked.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "content.h"
#include "core/plan.h"
#include "crew.h"

namespace attune::conformance {

/// Where one rank's buffer lies.
struct Place {
  bool registered = true;
  Index offset = 0;  ///< Elements from an aligned address.
};

struct Case {
  Content content;
  Plan plan;
  Index count = 0;
  Placement placement = Placement::out_of_place;
  EpilogueKind epilogue = EpilogueKind::none;
  std::array<Place, max_ranks> in;  ///< Ranks may differ: registered beside staged, other offsets.
  std::array<Place, max_ranks> out;
};

/// What a draw may choose from.
struct Choices {
  std::vector<std::string_view> variants;
  int ranks = 2;
  Bytes most_bytes = Bytes{1} << 18;
  int most_blocks = 16;
};

/// All variants of this build that a crew can run, or the one that ATTUNE_TEST_VARIANT names.
[[nodiscard]] std::vector<std::string_view> variants_to_test(bool with_vendor);

/// The case of this seed.
[[nodiscard]] Case draw(std::uint64_t seed, const Choices& choices);
[[nodiscard]] std::string describe(const Case& c);

/// The buffers of one rank: registered and private memory, each for an input and an output, with room for offsets
/// and guards around them.
class Arena {
 public:
  /// Collective, and so is the end of its life.
  Arena(Communicator& comm, Bytes most_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] std::byte* input(const Place& place, DType dtype) { return at(place, dtype, 0); }
  [[nodiscard]] std::byte* output(const Place& place, DType dtype) { return at(place, dtype, 1); }

 private:
  [[nodiscard]] std::byte* at(const Place& place, DType dtype, int which);
  Communicator& comm_;
  Bytes stride_;
  std::byte* registered_;
  std::byte* own_;
};

/// Runs the case on this rank and checks everything that one rank can see: exact or bounded result, guard bytes,
/// input unchanged. At once after the call the input is overwritten, as a caller may. Returns the first error, or "";
/// `hash` is that of the result. Throws what the communicator throws.
[[nodiscard]] std::string run(const Case& c, Communicator& comm, Arena& arena, std::uint64_t& hash);

}  // namespace attune::conformance
