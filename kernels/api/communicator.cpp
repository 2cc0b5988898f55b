#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <set>
#include <thread>

#include "api/known_calls.h"
#include "api/settings.h"
#include "attune/attune.hpp"
#include "runtime/available.h"
#include "runtime/backend.h"
#include "runtime/cuda_backend.h"
#include "runtime/digest.h"
#include "runtime/mpi_bootstrap.h"
#include "variants/registry.h"

namespace attune {

namespace {
/// Standard error, and only because the user asked for it with ATTUNE_LOG.
void write_to_stderr(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

BackendOptions backend_options(const Options& options, const Settings& settings, const host::Domains& domains,
                               MpiBootstrap* mpi) {
  BackendOptions backend;
  backend.domains = domains;
  backend.timeout_s = settings.timeout_s;
  backend.scratch_bytes = options.scratch_bytes;
  backend.stores = options.stores;
  backend.first_epoch = options.first_epoch;
  backend.gpu = options.gpu;
  backend.register_captured = options.register_captured;
  backend.mpi = mpi;
  if (settings.log_dispatch)
    backend.log = [log = options.log ? options.log : write_to_stderr](const std::string& line) {
      log("attune: runtime: " + line);
    };
  return backend;
}
}  // namespace

struct Communicator::State {
  State(std::unique_ptr<Bootstrap> bootstrap, const Options& options, MpiBootstrap* mpi)
      : settings(agree_on_settings(*bootstrap, options)),
        domains(host::agree_on_domains(*bootstrap, settings.domains)),
        agreed(agree_on_table(*bootstrap, options)),
        log(options.log ? options.log : write_to_stderr),
        dispatcher(agreed.table, options.device, bootstrap->size(), options.numerics, host::names_for(domains)) {
    check_settings(*bootstrap, options);
    const auto backend_settings = backend_options(options, settings, domains, mpi);
    team = options.device == DeviceKind::cuda ? cuda::make_backend(std::move(bootstrap), backend_settings)
                                              : host::make_backend(std::move(bootstrap), backend_settings);
  }

  /// Ranks that would dispatch differently must be impossible.
  void check_settings(Bootstrap& bootstrap, const Options& options) const {
    struct Mine {
      std::uint64_t table;
      Numerics numerics;
      Bytes scratch;
      std::uint32_t epoch;
      DeviceKind device;
      std::uint64_t domains;
    };
    host::Digest given;
    for (const int domain : settings.domains) given.add(static_cast<std::uint64_t>(domain));
    const auto all = bootstrap.gather(Mine{decision_hash(agreed.table), options.numerics, options.scratch_bytes,
                                           options.first_epoch, options.device, given.value()});
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r].table != all[0].table || all[r].numerics != all[0].numerics || all[r].scratch != all[0].scratch ||
          all[r].epoch != all[0].epoch || all[r].device != all[0].device || all[r].domains != all[0].domains)
        throw Error(Status::usage, fmt::format("rank {} made this communicator with other options than rank 0", r),
                    "give every rank the same device, table, numerics class, scratch size and domains");
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

  void run(const AllreduceCall& call, const Plan& plan) {
    const Guard guard(busy);
    KnownCall& known = known_calls.of(call, &plan);
    if (known.is(call, &plan)) return known.prepared->run();
    const std::size_t variant = allreduce_index(plan.variant);
    if (known.comes_again(call, &plan)) known.prepared = team->prepare(variant, call, plan);
    team->run(variant, call, plan);
  }

  /// The table's choice.
  void run(const AllreduceCall& call, const Communicator& self) {
    const Guard guard(busy);
    KnownCall& known = known_calls.of(call, nullptr);
    if (known.is(call, nullptr)) return known.prepared->run();
    check(call);
    const Problem problem = self.problem_of(call);
    const Answer answer = dispatcher.find(problem);
    const Resolved& chosen = resolve(answer.plan());
    if (settings.log_dispatch) note(problem, answer, chosen.plan);
    if (known.comes_again(call, nullptr)) known.prepared = team->prepare(chosen.variant, call, chosen.plan);
    team->run(chosen.variant, call, chosen.plan);
  }

  struct Resolved {
    const Plan* asked = nullptr;
    Plan plan{};
    std::size_t variant = 0;
  };
  /// A rule's plan keeps its place: the name of its variant is looked up once, and whether it can run here.
  const Resolved& resolve(const Plan& plan) {
    Resolved& known = resolved[reinterpret_cast<std::uintptr_t>(&plan) / alignof(Plan) % resolved.size()];
    if (known.asked == &plan) return known;
    known.plan = possible(plan);
    known.variant = allreduce_index(known.plan.variant);
    known.asked = &plan;
    return known;
  }

  void run(const NormCall& call, const Plan& plan) {
    const Guard guard(busy);
    team->run(call, plan);
  }

  /// The table's plan, unless this node cannot run it (no peer access, no vendor): then the vendor, or the way that
  /// needs nothing; on host, where there is one domain, what two levels become then. Equal on all ranks, because
  /// why_not is.
  [[nodiscard]] Plan possible(const Plan& plan) const {
    if (team->device() == DeviceKind::host) return host::runnable(plan, domains);
    if (team->why_not(plan.variant).empty()) return plan;
    const bool vendor = plan.variant != "vendor" && team->why_not("vendor").empty();
    return {.variant = vendor ? "vendor" : "naive", .blocks = plan.blocks, .threads = plan.threads};
  }

  /// `taken`: the plan that runs, which need not be the one that was found.
  void note(const Problem& problem, const Answer& answer, const Plan& taken) {
    if (!settings.log_dispatch || team->rank() != 0 || !noted.insert(problem).second) return;
    const TableKey asked = key_of(problem, dispatcher.numerics());
    std::string how = explain(answer, asked);
    if (const std::string& found = answer.plan().variant; taken.variant != found)
      how += fmt::format(", in place of {}: {}", found, team->why_not(found));
    log(fmt::format("attune: dispatch: {} {} bytes -> {} ({})", to_string(asked), problem.bytes(), to_string(taken),
                    how));
  }

  Settings settings;
  host::Domains domains;
  AgreedTable agreed;
  std::function<void(const std::string&)> log;
  Dispatcher dispatcher;
  std::unique_ptr<Backend> team;
  std::atomic<bool> busy{false};
  std::set<Problem> noted;
  std::array<Resolved, 31> resolved;  ///< By the address of the plan.
  KnownCalls known_calls;
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
void* Communicator::allocate_bytes(Bytes bytes) {
  state_->known_calls.forget();
  return state_->team->allocate(bytes);
}
void Communicator::release(void* memory) {
  state_->known_calls.forget();
  state_->team->release(static_cast<std::byte*>(memory));
}
bool Communicator::registered(const void* memory, Bytes bytes) const { return state_->team->registered(memory, bytes); }
const std::string& Communicator::table_path() const { return state_->agreed.path; }
const std::string& Communicator::table_warning() const { return state_->agreed.warning; }
bool Communicator::oversubscribed() const { return state_->team->oversubscribed(); }
DeviceKind Communicator::device() const { return state_->team->device(); }
void Communicator::register_buffer(void* memory, Bytes bytes) {
  state_->known_calls.forget();
  state_->team->register_buffer(memory, bytes);
}
void Communicator::deregister_buffer(void* memory) {
  state_->known_calls.forget();
  state_->team->deregister_buffer(memory);
}
void Communicator::complete_capture() { state_->team->complete_capture(); }
void Communicator::synchronize(void* stream) { state_->team->synchronize(stream); }
void Communicator::copy(void* to, const void* from, Bytes bytes) { state_->team->copy(to, from, bytes); }

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
  if (state_->team->capturing(call.stream)) problem.launch_mode = LaunchMode::graph;
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
  if (state_->team->capturing(call.stream)) problem.launch_mode = LaunchMode::graph;
  return problem;
}

Answer Communicator::find(const Problem& problem) const { return state_->dispatcher.find(problem); }

Plan Communicator::plan_for(const Problem& problem) const { return state_->possible(find(problem).plan()); }

std::string Communicator::why_not(std::string_view name) const { return state_->team->why_not(name); }

void Communicator::allreduce(const void* in, void* out, Index count, DType dtype, Op op, const EpilogueSpec& epilogue) {
  allreduce({in, out, count, dtype, op, epilogue});
}

void Communicator::allreduce(const AllreduceCall& call) { state_->run(call, *this); }

void Communicator::allreduce(const void* in, void* out, Index count, DType dtype, Op op, const Plan& plan,
                             const EpilogueSpec& epilogue) {
  state_->run(AllreduceCall{in, out, count, dtype, op, epilogue}, plan);
}

void Communicator::allreduce(const AllreduceCall& call, const Plan& plan) { state_->run(call, plan); }

void Communicator::fused(const NormCall& call) {
  check(call, rank(), size());
  const Problem problem = problem_of(call);
  const Answer answer = find(problem);
  const Plan plan = state_->possible(answer.plan());
  if (state_->settings.log_dispatch) state_->note(problem, answer, plan);
  state_->run(call, plan);
}

void Communicator::fused(const NormCall& call, const Plan& plan) { state_->run(call, plan); }

void run_local_team(int n, const Options& options, const std::function<void(Communicator&)>& f) {
  if (options.device == DeviceKind::cuda) cuda::prepare_local_team();
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
