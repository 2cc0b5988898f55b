/// attune bench: nccl-tests' way of measuring an allreduce, for the tuned choice or a variant by hand.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "api/settings.h"
#include "core/hardware.h"
#include "runtime/cuda_device.h"
#include "runtime/mpi_bootstrap.h"
#include "runtime/symmetric_memory.h"
#include "src/bench_print.h"
#include "src/command.h"
#include "src/device_memory.h"
#include "src/local_team.h"
#include "src/machine.h"
#include "src/manifest.h"
#include "src/mpi_session.h"
#include "src/units.h"
#include "src/watchdog.h"

namespace attune::driver {

namespace {

/// Where all ranks run, in rank order. Collective.
std::vector<BenchRank> gather_ranks(Meeting& meeting, DeviceKind kind) {
  std::optional<cuda::DeviceInfo> gpu;
  if (kind == DeviceKind::cuda) gpu = cuda::current_device();
  struct Mine {
    int pid = 0;
    int device_number = 0;
    std::array<char, 64> host{};
    std::array<char, 300> device{};
  } mine;
  mine.pid = ::getpid();
  ::gethostname(mine.host.data(), mine.host.size() - 1);
  mine.device_number = gpu ? gpu->ordinal : 0;
  const std::string device = gpu ? fmt::format("[{}] {}", gpu->bus_id, gpu->name)
                                 : fmt::format("[host] {}, CPUs {}", host_hardware().name, allowed_cpus());
  device.copy(mine.device.data(), mine.device.size() - 1);
  std::vector<BenchRank> ranks;
  for (const Mine& one : meeting.exchange(mine))
    ranks.push_back({static_cast<int>(ranks.size()), one.pid, one.host.data(), one.device.data(), one.device_number});
  return ranks;
}

Options options_of(const BenchRequest& request) {
  Options options;
  options.device = request.device;
  options.register_captured = false;
  options.table = request.flags.table;
  options.strict = request.flags.strict;
  options.numerics = request.numerics;
  if (request.flags.timeout_s > 0) options.timeout_s = request.flags.timeout_s;
  return options;
}

TeamRequest team_request(const BenchRequest& request) {
  const Bytes room = std::max<Bytes>(request.max_bytes, 64);
  TeamRequest team{.or_nothing = true};
  team.timeout_s = request.flags.timeout_s > 0 ? request.flags.timeout_s : timeout_from_environment(team.timeout_s);
  (request.memory == Memory::registered ? team.registered_bytes : team.staged_bytes) = room;
  const bool windows = request.plan.variant == cuda::symmetric_choice ||
                       (request.against_vendor && request.vendor == cuda::symmetric_choice);
  if (windows && request.memory == Memory::registered) team.symmetric_bytes = room;
  return team;
}

std::unique_ptr<SweepTeam> make_team(const BenchRequest& request) {
  require_one_node(MPI_COMM_WORLD);
  const auto make = [options = options_of(request)](double) {
    return std::make_unique<Communicator>(MPI_COMM_WORLD, options);
  };
  return std::make_unique<SweepTeam>(std::make_unique<MpiBootstrap>(MPI_COMM_WORLD), make, team_request(request));
}

void tell_notes(const BenchRequest& request, Communicator& comm) {
  if (comm.rank() != 0) return;
  if (const std::string note = rounding_note(request); !note.empty()) fmt::print(stderr, "attune: note: {}\n", note);
  if (comm.size() == 1)
    fmt::print(stderr, "attune: note: one rank measures nothing useful for an allreduce; use mpirun -n 2 or more\n");
  if (comm.device() == DeviceKind::cuda && is_emulated(cuda::hardware()))
    fmt::print(stderr,
               "attune: note: emulated: there is no GPU behind this, and there are no times: one call in the place of "
               "many, unless -n or -w is given\n");
  if (const std::string reason = comm.why_not("mesh"); !reason.empty() && comm.device() == DeviceKind::cuda)
    fmt::print(stderr, "attune: note: {}: calls go through the host (naive)\n", reason);
  if (const std::string reason = comm.why_not("vendor"); !reason.empty() && comm.device() == DeviceKind::cuda)
    fmt::print(stderr, "attune: note: nothing to compare with: {}\n", reason);
  if (comm.oversubscribed())
    fmt::print(stderr, "attune: note: more ranks than cores: the times are not those of this hardware\n");
  if (!comm.table_warning().empty()) fmt::print(stderr, "attune: warning: {}\n", comm.table_warning());
}

void tell_wrong(const BenchRow& row) {
  for (const Placement placement : all_of<Placement>()) {
    const auto& half = row.half[static_cast<std::size_t>(placement)];
    if (half.wrong > 0)
      fmt::print(stderr, "attune: wrong: {} {} {} bytes {}, {}: {}\n", name_of(row.dtype), name_of(row.op), row.bytes,
                 name_of(placement), to_string(half.plan), half.first_wrong);
  }
}

/// One pass over all dtypes, ops and sizes; rows are printed as they come. Collective.
std::vector<BenchRow> one_cycle(SweepTeam& team, const BenchRequest& request) {
  BenchRunner runner(team, request);
  std::vector<BenchRow> rows;
  for (const DType dtype : request.dtypes)
    for (const Op op : request.ops)
      for (const Bytes bytes : ladder(request, size_of(dtype))) {
        rows.push_back(runner.row(dtype, op, bytes));
        if (team.rank() != 0) continue;
        print_bench_row(request, rows.back(), team.size());
        tell_wrong(rows.back());
      }
  return rows;
}

Status bench_on(SweepTeam& team, const BenchRequest& request) {
  const bool speaks = team.rank() == 0;
  const auto ranks = gather_ranks(team.meeting(), request.device);
  const std::string started = time_now(), table = team.comm().table_path();
  tell_notes(request, team.comm());
  if (speaks) print_bench_header(request, ranks, table);
  std::vector<BenchRow> rows;
  for (int cycle = 0; request.flags.cycles == 0 || cycle < request.flags.cycles; ++cycle) {
    auto more = one_cycle(team, request);
    if (request.flags.cycles == 0) continue;  // for ever: nothing is kept
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const BenchTotals totals = totals_of(rows, team.size());
  if (speaks) print_bench_footer(request, rows, totals);
  if (speaks && !request.flags.output.empty()) {
    const auto name = write_bench_json(request.flags.output, request, ranks, rows, totals, table, started);
    fmt::print(stderr, "attune: wrote {}\n", name);
  }
  return totals.wrong > 0 || totals.too_slow() ? Status::wrong : Status::success;
}

Status bench(MpiSession& session, BenchRequest request) {
  const int local = request.flags.local;
  if (local != 0) require_local_team(session, request.device, local);
  if (request.device == DeviceKind::cuda) {
    require_gpus(session);
    if (is_emulated(cuda::hardware())) spare_repeats(request.flags);
  }
  if (session.rank() == 0 && !request.flags.output.empty()) require_writable(request.flags.output);
  if (local == 0) {
    const auto team = make_team(request);
    const Watchdog watchdog(team->patience_s());
    return bench_on(*team, request);
  }
  Status status = Status::success;
  with_local_team(local, options_of(request), team_request(request), [&](SweepTeam& team) {
    const Status mine = bench_on(team, request);
    if (team.rank() == 0) status = mine;
  });
  return status;
}

}  // namespace

Command make_bench_command() {
  auto flags = std::make_shared<BenchFlags>();
  return {.name = "bench",
          .help = "Measure with nccl-tests' flags and columns: the tuned choice, or a variant by hand",
          .options = [flags](CLI::App& app) { declare_bench_flags(app, *flags); },
          .run =
              [flags] {
                const BenchRequest request = understand(*flags);
                return with_mpi([&request](MpiSession& session) { return bench(session, request); });
              }};
}

}  // namespace attune::driver
