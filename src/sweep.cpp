#include "src/sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "api/settings.h"
#include "runtime/cuda_clocks.h"
#include "runtime/cuda_device.h"
#include "runtime/mpi_bootstrap.h"
#include "runtime/symmetric_memory.h"
#include "runtime/vendor_log.h"
#include "src/device_memory.h"
#include "src/local_team.h"
#include "src/machine.h"
#include "src/manifest.h"
#include "src/measure_meeting.h"
#include "src/progress.h"
#include "src/sha256.h"
#include "src/sweep_leader.h"
#include "src/sweep_world.h"
#include "src/watchdog.h"
#include "tuner/build_table.h"

namespace attune::driver {

namespace {
using tuner::CellStatus;

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Rank 0's side of the run folder, for the whole sweep.
struct Book {
  RunFolder folder;
  JournalWriter journal;
  std::vector<tuner::Record> records;
  std::set<std::string> finished;  ///< Jobs of earlier launches.
  std::set<CellName> skip;
  std::string launch;
  std::size_t launches = 1;  ///< This one and those before it.
  int local_team = 0;        ///< LaunchFacts::local_team.

  Book(RunFolder opened, std::string launch_id)
      : folder(std::move(opened)),
        journal(folder.file("journal.jsonl"), folder.earlier().good_bytes),
        records(folder.earlier().records),
        launch(std::move(launch_id)) {
    for (const auto& record : folder.blamed()) add(record);
    journal.sync();  // before the notes go that they came from
    folder.forget_blame();
    for (const auto& record : records)
      if (record.status != CellStatus::ok && record.status != CellStatus::unsupported)
        skip.insert({record.problem, record.plan});
    for (const auto& job : whole_lines(folder.file("finished.txt"))) finished.insert(job);
  }

  void add(const tuner::Record& record) {
    records.push_back(record);
    journal.append(record);
  }
  void finish_job(const std::string& job) {
    journal.sync();  // what is not to be repeated must be there
    append_line(folder.file("finished.txt"), job);
  }
};

Json read_config_json(const SweepRequest& request) {
  Json json = parse_json(read_file(request.config), request.config);
  if (!json.is_object()) throw Error(Status::usage, request.config + ": expected a JSON object", "see configs/");
  for (const auto& [key, value] : request.overrides.items()) json[key] = value;
  return json;
}

/// Opens the run folder and writes its manifest. The first of the launches that are appended makes the folder.
std::unique_ptr<Book> open_book(const SweepRequest& request, const SweepConfig& config, const LaunchFacts& launch) {
  const bool again = request.resume || (request.append && RunFolder::holds_run(request.out));
  RunFolder folder = again ? RunFolder::reopen(request.out) : RunFolder::create(request.out);
  const std::string path = folder.file("manifest.json");
  Json manifest;
  if (again)
    manifest = continued_manifest(parse_json(read_file(path), path), to_json(config), launch);
  else
    manifest = new_manifest(to_json(config), launch);
  const bool labelled = manifest.value("oversubscribed", false) || launch.oversubscribed;
  manifest["oversubscribed"] = labelled;
  write_file(path, manifest.dump(2) + "\n");
  if (request.append) std::filesystem::remove(folder.file("finished.txt"));  // another launch does every job anew
  auto book = std::make_unique<Book>(std::move(folder), launch.id);
  book->launches = manifest["launches"].size();
  book->local_team = launch.local_team;
  return book;
}

/// "[0000:11:00.0] 1980 MHz" of every GPU, with what holds it down; or why its clock is not known.
std::vector<std::string> clocks_of(DeviceKind device) {
  std::vector<std::string> texts;
  if (device == DeviceKind::host) return texts;
  for (const auto& gpu : cuda::devices()) {
    const cuda::Clocks clocks(gpu.ordinal);
    const cuda::ClockSample now = clocks.sample();
    const std::string reason = clocks.why_not();
    const std::string held = now.throttled() ? ", held down by " + cuda::words_of(now.held_down) : "";
    texts.push_back(fmt::format("[{}] {}", gpu.bus_id,
                                reason.empty() ? fmt::format("{} MHz{}", now.sm_mhz, held) : "unknown: " + reason));
  }
  return texts;
}

std::string vendor_log_of(DeviceKind device) {
  if (device == DeviceKind::host) return {};
  const std::string reason = cuda::VendorLog().why_not();
  return reason.empty() ? "on" : "off: " + reason;
}

std::string launch_id() { return fmt::format("{}/{}", utc_now(), ::getpid()); }

LeaderHooks hooks_of(Book& book, Progress& progress) {
  return {.record = [&](const tuner::Record& record) { book.add(record); },
          .running = [&](const CellName& cell) { book.folder.note_running(cell); },
          .finished = [&](const std::string& job) { book.finish_job(job); },
          .line = [&](const std::string& line) { progress.line(line); },
          .progress = [&](double done, const std::string& what) { progress.update(done, what); }};
}

/// The lengths of all messages, ascending.
std::vector<Bytes> messages_of(const SweepConfig& config) {
  std::vector<Bytes> all = config.sizes;
  for (const DType dtype : config.dtypes)
    for (const Shape& shape : config.shapes) all.push_back(shape.rows * shape.cols * size_of(dtype));
  std::ranges::sort(all);
  return all;
}

TeamRequest team_request(const SweepConfig& config) {
  TeamRequest request;
  request.timeout_s = config.timeout_s;
  request.registered_bytes = largest_message(config, Memory::registered);
  request.staged_bytes = largest_message(config, Memory::staged);
  if (std::ranges::count(config.variants, cuda::symmetric_choice) > 0)
    request.symmetric_bytes = request.registered_bytes;
  request.smaller = messages_of(config);
  for (const Collective collective : config.collectives) request.fused = request.fused || is_fused(collective);
  Bytes cache = std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), 1L << 25);
  if (config.device == DeviceKind::cuda) cache = std::max<Bytes>(cuda::devices().front().l2_bytes, Bytes{1} << 25);
  if (config.cache == tuner::CacheState::rotating) request.spread = 2 * cache;
  return request;
}

/// What a rank of a team does; `book`: rank 0's.
void measure_on(SweepTeam& team, const SweepConfig& config, double budget_s, Executor& executor, Book* book,
                Progress* progress) {
  SweepWorker worker(team, executor, {.mode = config.mode, .cache = config.cache}, config.seed);
  if (book == nullptr) return worker.serve();
  SweepLeader leader(worker, config,
                     {.launch = book->launch, .budget_s = budget_s, .skip = book->skip, .finished = book->finished},
                     hooks_of(*book, *progress));
  leader.run();
}

/// One rank count of a team of streams.
void run_local_ranks(const SweepConfig& config, int ranks, double budget_s, Executor& executor, Book* book,
                     Progress* progress) {
  const Options options{.device = config.device, .table = "none", .register_captured = false};
  with_local_team(ranks, options, team_request(config), [&](SweepTeam& team) {
    measure_on(team, config, budget_s, executor, team.rank() == 0 ? book : nullptr, progress);
  });
}

/// One rank count: its members measure, the others wait.
void run_ranks(MpiSession& session, const SweepConfig& config, int ranks, double budget_s, Executor& executor,
               Book* book, Progress* progress) {
  MPI_Comm comm = first_ranks(session, ranks);
  const bool member = comm != MPI_COMM_NULL;
  if (member) {
    const auto make = [&](double timeout_s) {
      return std::make_unique<Communicator>(
          comm, Options{.device = config.device, .table = "none", .timeout_s = timeout_s, .register_captured = false});
    };
    {
      SweepTeam team(std::make_unique<MpiBootstrap>(comm), make, team_request(config));
      measure_on(team, config, budget_s, executor, book, progress);
    }
    MPI_Comm_free(&comm);
  }
  // Who has measured waits for the others to come; they wait as long as it takes.
  quiet_barrier(session.world(), member ? patience_of(config.timeout_s) : 0);
}

/// All rank counts, one after the other.
void run_all_ranks(MpiSession& session, const SweepRequest& request, const SweepConfig& config, Executor& executor,
                   Book* book, Progress* progress) {
  const double start_s = now_s();
  try {
    for (std::size_t i = 0; i < config.ranks.size(); ++i) {
      const double left_s = config.budget_s - (now_s() - start_s);
      const double share_s = std::max(0.001, left_s / static_cast<double>(config.ranks.size() - i));
      const double budget_s = config.budget_s > 0 ? share_s : 0;
      if (request.local > 0)
        run_local_ranks(config, config.ranks[i], budget_s, executor, book, progress);
      else
        run_ranks(session, config, config.ranks[i], budget_s, executor, book, progress);
    }
  } catch (const Error& error) {
    if (error.status() == Status::timeout) note_fatal(request.out, session.rank(), error.what());
    throw;
  }
}

/// table.json: false when nothing could be tuned.
bool write_table(const Book& book, const SweepConfig& config) {
  tuner::DecisionOptions options;
  options.numerics = config.numerics;
  options.filter = {config.mode, config.cache};
  const std::string path = book.folder.file("table.json");
  try {
    const auto tuned = tuner::tune(book.records, tuner::facts_of_variant, options, nullptr);
    const std::string journal = read_file(book.folder.file("journal.jsonl"));
    const std::string name = std::filesystem::weakly_canonical(book.folder.path()).filename().string();
    const Source source{.run = name, .journal_sha256 = sha256(journal), .created = utc_now()};
    const Hardware here = hardware_of(config.device, book.local_team);
    Table table = tuner::table_of(tuned, here, software_here(config.device), source);
    if (is_emulated(table.hardware)) drop_times(table);
    std::size_t rules = 0;
    for (const auto& keyed : table.tables) rules += keyed.rules.size();
    write_file(path, to_text(table));
    print(fmt::format("table:   {} ({} tables, {} rules)\n", path, table.tables.size(), rules));
    return true;
  } catch (const Error& error) {
    print(fmt::format("table:   none: {}\n", error.what()));
    return false;
  }
}

/// A sweep that was possible nowhere is no success: the first reason stands for all.
[[noreturn]] void refuse_empty(const Book& book, int unsupported) {
  std::string text = "nothing of what was asked for could be timed";
  for (const auto& record : book.records)
    if (record.status == CellStatus::unsupported) {
      text += ": " + record.reason;
      break;
    }
  throw Error(Status::unsupported, text,
              unsupported > 0 ? "all reasons are in " + book.folder.file("journal.jsonl")
                              : "use a larger --budget, or other cases");
}

/// Was none of the variants that were asked for possible? The vendor, which is always measured, is no answer then; what
/// the budget did not reach may be.
bool asked_in_vain(const std::vector<CellSummary>& cells, const SweepConfig& config) {
  const auto vendor = [](const std::string& name) { return name == "vendor"; };
  const auto timed = [&](const CellSummary& cell) { return cell.timed() && !vendor(cell.plan.variant); };
  const auto refused = [&](const std::string& name) {
    return std::ranges::any_of(cells, [&](const CellSummary& cell) {
      return cell.plan.variant == name && cell.status == CellStatus::unsupported;
    });
  };
  return !std::ranges::all_of(config.variants, vendor) && std::ranges::none_of(cells, timed) &&
         std::ranges::all_of(config.variants, [&](const auto& name) { return vendor(name) || refused(name); });
}

/// The closing lines, and what the sweep ends with. Throws Error(unsupported) when nothing could be timed.
Status close_book(Book& book, const SweepConfig& config) {
  book.journal.sync();
  auto cells = summarise(book.records, config.precision);
  int timed = 0, wrong = 0, hung = 0, failed = 0, unsupported = 0;
  for (const auto& cell : cells) {
    timed += cell.timed();
    wrong += cell.status == CellStatus::wrong;
    hung += cell.status == CellStatus::timed_out;
    failed += cell.status == CellStatus::failed;
    unsupported += cell.status == CellStatus::unsupported;
  }
  write_table(book, config);
  const bool emulated = config.device == DeviceKind::cuda && is_emulated(cuda::hardware());
  if (emulated) drop_times(cells);
  write_file(book.folder.file("summary.csv"), to_csv(cells));
  print(fmt::format("summary: {} ({} cells: {} {}, {} unsupported, {} wrong, {} timed out, {} failed)\n",
                    book.folder.file("summary.csv"), cells.size(), timed, emulated ? "right (emulated)" : "timed",
                    unsupported, wrong, hung, failed));
  book.folder.note_finished();
  if (wrong > 0) return Status::wrong;
  if (hung > 0) return Status::timeout;
  if (failed > 0) return Status::internal;
  if (timed == 0 || asked_in_vain(cells, config)) refuse_empty(book, unsupported);
  return Status::success;
}

void greet(const SweepConfig& config, const Book& book, int world) {
  if (!book.folder.earlier().bad.empty())
    print(fmt::format("{}: {} damaged lines of the journal are left out\n", book.folder.path(),
                      book.folder.earlier().bad.size()));
  if (world == 1) print("one rank has nobody to exchange data with: start with mpirun -n 2 or more for useful times\n");
  if (config.device == DeviceKind::cuda && is_emulated(cuda::hardware()))
    print("emulated: there is no GPU behind this; what is right is right, and there are no times\n");
  if (book.local_team > 0) print(describe_local_team(book.local_team) + "\n");
  std::string ranks;
  for (const int count : config.ranks) ranks += (ranks.empty() ? "" : ", ") + std::to_string(count);
  print(fmt::format("sweep into {}: ranks {}, {} search, seed {}\n", book.folder.path(), ranks, name_of(config.search),
                    config.seed));
  if (!book.records.empty())
    print("the lines of this launch are of its own samples; the table rests on all launches\n");
}
}  // namespace

Status run_sweep(MpiSession& session, const SweepRequest& request, Executor& executor) {
  require_one_node(session.world());
  const int world = request.local > 0 ? request.local : session.size();
  const auto bindings = gather_texts(session, allowed_cpus());
  const std::string text = from_rank_0(session, [&] {
    const Json json = read_config_json(request);
    (void)parse_config(json, request.config, {world});
    return json.dump();
  });
  SweepConfig config = parse_config(Json::parse(text), request.config, {world});
  if (request.local != 0) require_local_team(session, config.device, request.local);
  if (config.device == DeviceKind::cuda) require_gpus(session);
  const bool limited = Json::parse(text).contains("timeout_s");  // else by the environment, which no manifest keeps
  const double timeout_s = limited ? config.timeout_s : timeout_from_environment(config.timeout_s);
  std::unique_ptr<Book> book;
  const std::string launches = from_rank_0(session, [&] {
    const bool crowded = session.size() > ::sysconf(_SC_NPROCESSORS_ONLN);
    book = open_book(
        request, config,
        {launch_id(), bindings, crowded, clocks_of(config.device), vendor_log_of(config.device), request.local});
    greet(config, *book, world);
    return std::to_string(book->launches);
  });
  config.seed += std::stoull(launches) - 1;  // every launch in another order
  config.timeout_s = timeout_s;
  note_crashes_in(request.out, session.rank());
  const Watchdog watchdog(patience_of(timeout_s));
  Progress progress(session.rank() == 0 && output_is_terminal(), print, now_s);
  run_all_ranks(session, request, config, executor, book.get(), &progress);
  const std::string status =
      from_rank_0(session, [&] { return std::to_string(static_cast<int>(close_book(*book, config))); });
  return static_cast<Status>(std::stoi(status));
}

}  // namespace attune::driver
