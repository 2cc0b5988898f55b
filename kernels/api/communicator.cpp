#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <set>
#include <thread>

#include "api/settings.h"
#include "attune/attune.hpp"
#include "runtime/available.h"
#include "runtime/composites/mpi_vendor.h"
#include "runtime/composites/naive.h"
#include "runtime/host_team.h"
#include "runtime/mpi_bootstrap.h"
#include "variants/registry.h"

namespace attune {

namespace {
constexpr auto names = all_variant_names();

/// Index in variant_table.
std::size_t index_of(std::string_view name) {
  const VariantInfo& info = variant(name);
  if (info.traits.family == Family::fused)
    throw Error(Status::usage, fmt::format("'{}' is no variant of allreduce", name), "use one of `attune cost`'s");
  return static_cast<std::size_t>(&info - variant_table.data());
}

/// Drives MPI while a rank waits: a peer may be blocked in a send to us before it can enter our call.
void drive_mpi(void* context) {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, static_cast<MpiBootstrap*>(context)->comm(), &flag, MPI_STATUS_IGNORE);
}

/// Standard error, and only because the user asked for it with ATTUNE_LOG.
void write_to_stderr(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

host::TeamOptions team_options(const Options& options, const Settings& settings) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  host::TeamOptions team;
  team.timeout_s = settings.timeout_s;
  team.scratch_bytes = options.scratch_bytes;
  team.first_epoch = options.first_epoch;
  team.node_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  team.rank_cores = ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : team.node_cores;
  return team;
}
}  // namespace

struct Communicator::State {
  State(std::unique_ptr<Bootstrap> bootstrap, const Options& options, MpiBootstrap* mpi)
      : settings(agree_on_settings(*bootstrap, options)),
        agreed(agree_on_table(*bootstrap, options)),
        log(options.log ? options.log : write_to_stderr),
        dispatcher(agreed.table, DeviceKind::host, bootstrap->size(), options.numerics, names) {
    check_settings(*bootstrap, options);
    auto team_settings = team_options(options, settings);
    if (mpi != nullptr) {
      team_settings.progress = drive_mpi;
      team_settings.progress_context = mpi;
      vendor = std::make_unique<host::MpiVendor>(mpi->comm());
    }
    team = std::make_unique<host::HostTeam>(std::move(bootstrap), team_settings);
  }

  /// Ranks that would dispatch differently must be impossible.
  void check_settings(Bootstrap& bootstrap, const Options& options) const {
    struct Mine {
      std::uint64_t table;
      Numerics numerics;
      Bytes scratch;
      std::uint32_t epoch;
    };
    const auto all = bootstrap.gather(
        Mine{decision_hash(agreed.table), options.numerics, options.scratch_bytes, options.first_epoch});
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r].table != all[0].table || all[r].numerics != all[0].numerics || all[r].scratch != all[0].scratch ||
          all[r].epoch != all[0].epoch)
        throw Error(Status::usage, fmt::format("rank {} made this communicator with other options than rank 0", r),
                    "give every rank the same table, numerics class and scratch size");
  }

  /// One call at a time.
  struct Guard {
    explicit Guard(std::atomic<bool>& flag_) : flag(flag_) {
      if (flag.exchange(true, std::memory_order_acquire))
        throw Error(Status::usage, "two calls at once on one communicator",
                    "give each thread a communicator of its own");
    }
    ~Guard() { flag.store(false, std::memory_order_release); }
    std::atomic<bool>& flag;
  };

  void require_vendor() const {
    if (vendor == nullptr)
      throw Error(Status::unsupported, "a team of threads has no vendor",
                  "use another variant, or a communicator made from an MPI_Comm");
  }

  void run(const AllreduceCall& call, const Plan& plan) {
    const Guard guard(busy);
    run_variant(attune::index_of(plan.variant), plan, call);
  }

  /// The table's choice. Programs repeat themselves: what the call before was, this one is without a look-up.
  void run(const AllreduceCall& call, const Problem& problem) {
    const Guard guard(busy);
    if (latest.plan == nullptr || latest.problem != problem) {
      const Answer answer = dispatcher.find(problem);
      if (settings.log_dispatch) note(problem, answer, to_string(key_of(problem, dispatcher.numerics())));
      latest = {problem, &answer.plan(), index_of(answer.plan())};
    }
    run_variant(latest.variant, *latest.plan, call);
  }

  /// A rule's plan keeps its place: the name of its variant is looked up once.
  std::size_t index_of(const Plan& plan) {
    Resolved& known = resolved[reinterpret_cast<std::uintptr_t>(&plan) / alignof(Plan) % resolved.size()];
    if (known.plan != &plan) known = {&plan, attune::index_of(plan.variant)};
    return known.variant;
  }

  void run_variant(std::size_t index, const Plan& plan, const AllreduceCall& call) {
    if (!variant_table[index].composite) return team->allreduce(index, plan, call);
    if (variant_table[index].name == "naive") return host::naive_allreduce(*team, call);
    require_vendor();
    vendor->allreduce(*team, call, plan.variant);
  }

  void run(const NormCall& call, const Plan& plan) {
    const Guard guard(busy);
    if (plan.variant == name_of(call.collective)) return team->fused(plan, call);
    if (variant(plan.variant).name != "vendor")
      throw Error(Status::usage, fmt::format("'{}' is no variant of {}", plan.variant, name_of(call.collective)),
                  fmt::format("use {} or vendor", name_of(call.collective)));
    require_vendor();
    vendor->fused(*team, call);
  }

  void note(const Problem& problem, const Answer& answer, const std::string& asked) {
    if (!settings.log_dispatch || team->rank() != 0 || !noted.insert(problem).second) return;
    log(fmt::format("attune: dispatch: {} {} bytes -> {} ({})", asked, problem.bytes(), to_string(answer.plan()),
                    explain(answer, key_of(problem, dispatcher.numerics()))));
  }

  Settings settings;
  AgreedTable agreed;
  std::function<void(const std::string&)> log;
  Dispatcher dispatcher;
  std::unique_ptr<host::MpiVendor> vendor;
  std::unique_ptr<host::HostTeam> team;
  std::atomic<bool> busy{false};
  std::set<Problem> noted;
  struct Resolved {
    const Plan* plan = nullptr;
    std::size_t variant = 0;
  };
  std::array<Resolved, 31> resolved;  ///< By the address of the plan.
  struct Latest {
    Problem problem;
    const Plan* plan = nullptr;
    std::size_t variant = 0;
  } latest;  ///< The last call by the table.
};

namespace {
std::unique_ptr<MpiBootstrap> meet(MPI_Comm comm) {
  require_one_node(comm);
  return std::make_unique<MpiBootstrap>(comm);
}
}  // namespace

Communicator::Communicator(MPI_Comm comm, const Options& options) {
  auto bootstrap = meet(comm);
  auto* mpi = bootstrap.get();
  state_ = std::make_unique<State>(std::move(bootstrap), options, mpi);
}
Communicator::Communicator(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : state_(std::make_unique<State>(std::move(bootstrap), options, nullptr)) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

int Communicator::rank() const { return state_->team->rank(); }
int Communicator::size() const { return state_->team->size(); }
void* Communicator::allocate_bytes(Bytes bytes) { return state_->team->allocate(bytes); }
void Communicator::release(void* memory) { state_->team->release(static_cast<std::byte*>(memory)); }
bool Communicator::registered(const void* memory, Bytes bytes) const { return state_->team->registered(memory, bytes); }
const std::string& Communicator::table_path() const { return state_->agreed.path; }
const std::string& Communicator::table_warning() const { return state_->agreed.warning; }
bool Communicator::oversubscribed() const { return state_->team->oversubscribed(1); }

Problem Communicator::problem_of(const AllreduceCall& call) const {
  Problem problem;
  problem.dtype = call.dtype;
  problem.op = call.op;
  problem.count = call.count;
  problem.ranks = size();
  problem.placement = call.in == call.out ? Placement::in_place : Placement::out_of_place;
  const Bytes bytes = problem.bytes();
  problem.memory = registered(call.in, bytes) && registered(call.out, bytes) ? Memory::registered : Memory::staged;
  problem.epilogue = call.epilogue.kind;
  return problem;
}

Problem Communicator::problem_of(const NormCall& call) const {
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  Problem problem;
  problem.collective = call.collective;
  problem.dtype = call.dtype;
  problem.count = call.rows * call.cols;
  problem.rows = call.rows;
  problem.cols = call.cols;
  problem.ranks = size();
  problem.placement = call.in == call.sum ? Placement::in_place : Placement::out_of_place;
  const Bytes bytes = problem.bytes();
  const bool outputs = !everywhere || (registered(call.sum, bytes) && registered(call.normalised, bytes));
  problem.memory = registered(call.in, bytes) && outputs ? Memory::registered : Memory::staged;
  problem.epilogue = call.residual != nullptr ? EpilogueKind::residual : EpilogueKind::none;
  return problem;
}

Answer Communicator::find(const Problem& problem) const { return state_->dispatcher.find(problem); }

std::string Communicator::why_not(std::string_view name) const {
  const auto& info = variant(name);
  if (info.name == "vendor" && state_->vendor == nullptr) return "a team of threads has no vendor";
  if (name.starts_with("vendor:")) {
    (void)host::parse_vendor_choice(name);
    return host::why_no_vendor_choices();
  }
  return host::why_not(info);
}

void Communicator::allreduce(const void* in, void* out, Index count, DType dtype, Op op, const EpilogueSpec& epilogue) {
  allreduce({in, out, count, dtype, op, epilogue});
}

void Communicator::allreduce(const AllreduceCall& call) {
  check(call);
  state_->run(call, problem_of(call));
}

void Communicator::allreduce(const void* in, void* out, Index count, DType dtype, Op op, const Plan& plan,
                             const EpilogueSpec& epilogue) {
  state_->run(AllreduceCall{in, out, count, dtype, op, epilogue}, plan);
}

void Communicator::allreduce(const AllreduceCall& call, const Plan& plan) { state_->run(call, plan); }

void Communicator::fused(const NormCall& call) {
  check(call, rank(), size());
  const Problem problem = problem_of(call);
  const Answer answer = find(problem);
  if (state_->settings.log_dispatch)
    state_->note(problem, answer, to_string(key_of(problem, state_->dispatcher.numerics())));
  state_->run(call, answer.plan());
}

void Communicator::fused(const NormCall& call, const Plan& plan) { state_->run(call, plan); }

void run_local_team(int n, const Options& options, const std::function<void(Communicator&)>& f) {
  auto bootstraps = make_local_bootstraps(n);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n));
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < errors.size(); ++r)
    ranks.emplace_back([&, r] {
      try {
        Communicator comm(std::move(bootstraps[r]), options);
        f(comm);
      } catch (...) {
        errors[r] = std::current_exception();
      }
    });
  for (auto& rank : ranks) rank.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace attune
