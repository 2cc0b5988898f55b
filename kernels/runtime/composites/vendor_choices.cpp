#include "runtime/composites/vendor_choices.h"

#include <charconv>

#include "core/error.h"
#include "runtime/mpi_bootstrap.h"

namespace attune::host {

namespace {
constexpr std::string_view prefix = "vendor:openmpi/";

/// An integer or boolean control variable of MPI_T, found by name.
class ControlVariable {
 public:
  explicit ControlVariable(const char* name) {
    int provided = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
    initialised_ = true;
    int index = 0;
    int count = 0;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return;
    found_ = MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) == MPI_SUCCESS;
  }
  ~ControlVariable() {
    if (found_) MPI_T_cvar_handle_free(&handle_);
    if (initialised_) MPI_T_finalize();
  }
  ControlVariable(const ControlVariable&) = delete;
  ControlVariable& operator=(const ControlVariable&) = delete;

  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] int read() const {
    std::int64_t word = 0;  // booleans may be narrower than int
    MPI_T_cvar_read(handle_, &word);
    return static_cast<int>(word);
  }
  [[nodiscard]] bool write(int value) const { return MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS; }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  bool initialised_ = false;
  bool found_ = false;
};

constexpr const char* algorithm_variable = "coll_tuned_allreduce_algorithm";
constexpr const char* segment_variable = "coll_tuned_allreduce_algorithm_segmentsize";
}  // namespace

const std::vector<OpenMpiAlgorithm>& open_mpi_algorithms() {
  static const std::vector<OpenMpiAlgorithm> all{
      {1, "basic_linear", false, false}, {2, "nonoverlapping", true, false}, {3, "recursive_doubling", false, false},
      {4, "ring", false, true},          {5, "segmented_ring", true, true},  {6, "rabenseifner", false, true}};
  return all;
}

VendorChoice parse_vendor_choice(std::string_view variant) {
  if (variant == "vendor") return {};
  std::string known;
  if (variant.starts_with(prefix)) {
    std::string_view name = variant.substr(prefix.size());
    Bytes segment = 0;
    bool good = true;
    if (const auto slash = name.find('/'); slash != std::string_view::npos) {
      const auto digits = name.substr(slash + 1);
      const auto [end, code] = std::from_chars(digits.begin(), digits.end(), segment);
      good = code == std::errc{} && end == digits.end() && segment > 0;
      name = name.substr(0, slash);
    }
    for (const auto& algorithm : open_mpi_algorithms()) {
      if (good && algorithm.name == name && (segment == 0 || algorithm.segmented)) return {algorithm.id, segment};
      known += (known.empty() ? "" : ", ") + std::string(prefix) + std::string(algorithm.name);
    }
  }
  throw Error(
      Status::usage, "unknown choice of the vendor '" + std::string(variant) + "'",
      known.empty() ? "use vendor, or vendor:openmpi/ALGORITHM" : "known: " + known + " (segmented ones take /BYTES)");
}

std::string why_no_vendor_choices() {
  const ControlVariable dynamic("coll_tuned_use_dynamic_rules");
  const ControlVariable algorithm(algorithm_variable);
  if (!dynamic.found() || !algorithm.found())
    return "this MPI has no coll_tuned_allreduce_algorithm to set (is it Open MPI?)";
  if (dynamic.read() == 0)
    return "Open MPI ignores forced algorithms; start with OMPI_MCA_coll_tuned_use_dynamic_rules=1";
  return {};
}

ForcedCommunicators::~ForcedCommunicators() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (auto& [name, comm] : made_) MPI_Comm_free(&comm);
}

MPI_Comm ForcedCommunicators::get(const std::string& variant) {
  if (const auto found = made_.find(variant); found != made_.end()) return found->second;
  const VendorChoice choice = parse_vendor_choice(variant);
  if (const std::string reason = why_no_vendor_choices(); !reason.empty())
    throw Error(Status::unsupported, variant + ": " + reason, "use the variant vendor");
  const ControlVariable algorithm(algorithm_variable);
  const ControlVariable segment(segment_variable);
  if (!algorithm.write(choice.algorithm) || (segment.found() && !segment.write(static_cast<int>(choice.segment))))
    throw Error(Status::unsupported, variant + ": Open MPI does not let its algorithm be set",
                "use the variant vendor");
  MPI_Comm forced = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(comm_, &forced);
  (void)algorithm.write(0);
  if (segment.found()) (void)segment.write(0);
  check_mpi(code, "MPI_Comm_dup");
  MPI_Comm_set_errhandler(forced, MPI_ERRORS_RETURN);
  made_.emplace(variant, forced);
  return forced;
}

}  // namespace attune::host
