#include "src/bench_flags.h"

#include <fmt/format.h>

#include "device/host_memory.h"
#include "runtime/cuda_device.h"
#include "runtime/symmetric_memory.h"
#include "src/device_memory.h"
#include "src/units.h"
#include "src/words.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {

constexpr auto bench_footer =
    "Examples:\n"
    "  mpirun -n 2 attune bench -b 8 -e 64M -f 2 -d bfloat16            the tuned choice\n"
    "  mpirun -n 2 attune bench -b 1M -e 64M -f 4 --against vendor      call by call against MPI_Allreduce\n"
    "  mpirun -n 4 attune bench -b 1M -e 1M --variant ring --blocks 2   one variant by hand\n"
    "\n"
    "The columns are nccl-tests'. Times are of calls back to back, as nccl-tests takes them; with --against or\n"
    "--cache rewritten they are medians of single calls, from a common start until the last rank is done.\n"
    "Sizes are rounded down to whole elements, as nccl-tests does.\n"
    "Exits with 7 if any result was wrong, or if the average bus bandwidth is below 0.9 * NCCL_TESTS_MIN_BW.";

void declare_sizes(CLI::App& app, BenchFlags& flags) {
  app.add_option("-b,--minbytes", flags.min_bytes, "Smallest message")->capture_default_str();
  app.add_option("-e,--maxbytes", flags.max_bytes, "Largest message")->capture_default_str();
  app.add_option("-i,--stepbytes", flags.step_bytes, "Added from size to size")->capture_default_str();
  app.add_option("-f,--stepfactor", flags.step_factor, "Multiplied from size to size; 1 = use -i")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("-d,--datatype", flags.dtypes, "float half bfloat16 … or f32 f16 bf16 …, a list, or all")
      ->capture_default_str();
  app.add_option("-o,--op", flags.ops, "sum prod min max avg, a list, or all")->capture_default_str();
}

void declare_repeats(CLI::App& app, BenchFlags& flags) {
  const auto count = [&app](const char* names, int& value, const char* help, int low, int high) {
    return app.add_option(names, value, help)->check(CLI::Range(low, high))->capture_default_str();
  };
  const auto given = [&flags](const std::string&) { flags.repeats_given = true; };
  count("-n,--iters", flags.iters, "Timed calls per size", 1, 1 << 30)->each(given);
  count("-m,--agg_iters", flags.aggregated, "Calls that count as one iteration", 1, 1 << 20);
  count("-w,--warmup_iters", flags.warm_up, "Calls before the timed ones", 0, 1 << 30)->each(given);
  count("-N,--run_cycles", flags.cycles, "Times over the whole ladder; 0 = until stopped", 0, 1 << 30);
  count("-c,--check", flags.check, "Validated calls per size, with data of which every bit is known", 0, 1000);
  count("-a,--average", flags.average, "Whose time: 0 rank 0, 1 average, 2 least, 3 most over ranks", 0, 3);
  count("-C,--report_cputime", flags.cpu_time, "Name the time cputime; on host the caller works all the time", 0, 1);
  count("-R,--local_register", flags.registered,
        "1: memory that peers can address, 2: the vendor on NCCL's windows, too; 0: staged (any memory)", 0, 2);
  app.add_option("-T,--timeout", flags.timeout_s, "Seconds that a wait may last; 0 = ATTUNE_TIMEOUT_S, default 30")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-J,--output_file", flags.output, "Write everything to this .json file, too");
}

void declare_for_compatibility(CLI::App& app, BenchFlags& flags) {
  const auto accept = [&app](const char* names, int& value, const char* help) {
    app.add_option(names, value, help)->group("Accepted, because scripts have them");
  };
  accept("-g,--ngpus", flags.gpus, "Devices per rank: 1");
  accept("-t,--nthreads", flags.threads, "Driving threads per rank: 1 (see --blocks)");
  accept("-z,--blocking", flags.blocking, "1 = a barrier after every iteration, inside the time");
  accept("-G,--cudagraph", flags.graph,
         "cuda: capture the calls in a graph, launch it so often; 0 = launch them one by one");
  accept("-r,--root", flags.root, "An allreduce has no root");
  accept("-p,--parallel_init", flags.parallel_init, "Ranks always start in parallel");
}

void declare_ours(CLI::App& app, BenchFlags& flags) {
  constexpr auto group = "attune's own";
  app.add_option("--device", flags.device, "host: ranks are processes on CPUs; cuda: a GPU per rank")
      ->group(group)
      ->capture_default_str();
  app.add_option("--local", flags.local, "cuda, without mpirun: so many ranks as streams of one GPU")->group(group);
  app.add_option("--variant", flags.variant, "This variant instead of the table's choice")->group(group);
  app.add_option("--blocks", flags.blocks, "Threads of each rank (cuda: thread blocks), with --variant")->group(group);
  app.add_option("--block-threads", flags.block_threads, "cuda: threads of a block, with --variant; default 512")
      ->group(group);
  app.add_option("--chunk", flags.chunk,
                 "Pipelining grain in bytes (whole packs of 64; cuda: 16), with --variant; 0 = its own choice")
      ->group(group);
  app.add_option("--table", flags.table, "Dispatch table; 'none' = built-in; default: ATTUNE_TABLE, then the folders")
      ->group(group);
  app.add_flag("--strict", flags.strict, "A table of other hardware is an error")->group(group);
  app.add_option("--numerics", flags.numerics, "Loosest class that the table may use")
      ->group(group)
      ->capture_default_str();
  app.add_option("--against", flags.against, "vendor: also time the vendor, interleaved call by call")->group(group);
  app.add_option("--cache", flags.cache, "hot, or rewritten: the input is written anew before every call")
      ->group(group)
      ->capture_default_str();
}

void refuse_what_device_lacks(const BenchFlags& flags, DeviceKind device) {
  if (flags.gpus != 1)
    throw Error(Status::unsupported, fmt::format("bench: -g {}: a rank drives one device", flags.gpus),
                "launch more ranks with mpirun -n");
  if (flags.threads != 1)
    throw Error(Status::unsupported, fmt::format("bench: -t {}: a rank has one driving thread", flags.threads),
                "use --blocks for worker threads");
  if (flags.graph < 0 || flags.graph > 1 << 20)
    throw Error(Status::usage, fmt::format("bench: -G {}", flags.graph), "give the number of graph launches");
  if (device == DeviceKind::cuda) return;
  if (flags.graph != 0)
    throw Error(Status::unsupported, "bench: -G: graph launches need the cuda device",
                "leave -G out, or use --device cuda");
  if (flags.blocking < 0 || flags.blocking > 1)
    throw Error(Status::unsupported, fmt::format("bench: -z {}: calls on host always block", flags.blocking),
                "use -z 0 or -z 1");
}

Plan plan_by_hand(const BenchFlags& flags, DeviceKind device) {
  const auto& info = variant(flags.variant);
  const bool cuda = device == DeviceKind::cuda;
  const int most = cuda ? cuda::max_plan_blocks : host::max_blocks;
  if (flags.blocks < 1 || flags.blocks > most)
    throw Error(Status::usage, fmt::format("bench: --blocks {}", flags.blocks), fmt::format("use 1 to {}", most));
  const int threads = flags.block_threads != 0 ? flags.block_threads : cuda ? cuda::default_threads : 1;
  if (cuda ? threads < 32 || threads > cuda::max_plan_threads || threads % 32 != 0 : threads != 1)
    throw Error(Status::usage, fmt::format("bench: --block-threads {}", threads),
                cuda ? "use a multiple of 32 up to 512" : "a block has one thread on host");
  const Bytes chunk = parse_bytes(flags.chunk, "bench: --chunk");
  if (chunk != 0 && !info.traits.chunked)
    throw Error(Status::usage, fmt::format("bench: --chunk means nothing to {}", flags.variant), "leave --chunk out");
  if (const Bytes grain = chunk_grain(device); chunk % grain != 0)
    throw Error(Status::usage, fmt::format("bench: --chunk {}: a chunk is made of whole packs", flags.chunk),
                fmt::format("use 0, or a multiple of {}", grain));
  return {.variant = flags.variant, .blocks = flags.blocks, .threads = threads, .chunk_bytes = chunk};
}

void understand_choice(const BenchFlags& flags, BenchRequest& request) {
  request.by_table = flags.variant.empty();
  if (!request.by_table) request.plan = plan_by_hand(flags, request.device);
  if (request.by_table && (flags.blocks != 1 || flags.chunk != "0" || flags.block_threads != 0))
    throw Error(Status::usage, "bench: --blocks, --block-threads and --chunk without --variant",
                "name the variant that they are for");
  if (!flags.against.empty() && flags.against != "vendor") refuse_word(flags.against, "bench: --against", {"vendor"});
  request.against_vendor = !flags.against.empty();
  if (flags.registered == 2 && request.device == DeviceKind::cuda) {
    request.vendor = cuda::symmetric_choice;
    if (!request.by_table && request.plan.variant == "vendor") request.plan.variant = request.vendor;
  }
  if (flags.cache != "hot" && flags.cache != "rewritten")
    refuse_word(flags.cache, "bench: --cache", {"hot", "rewritten"});
  request.cache = *parse<tuner::CacheState>(flags.cache);
}

}  // namespace

void declare_bench_flags(CLI::App& app, BenchFlags& flags) {
  declare_sizes(app, flags);
  declare_repeats(app, flags);
  declare_ours(app, flags);
  declare_for_compatibility(app, flags);
  app.footer(bench_footer);
}

void spare_repeats(BenchFlags& flags) {
  if (flags.repeats_given) return;
  flags.iters = 1;
  flags.warm_up = 0;
}

BenchRequest understand(const BenchFlags& flags) {
  BenchRequest request{.flags = flags};
  request.device = parse_word<DeviceKind>(flags.device, "bench: --device");
  if (request.device == DeviceKind::cuda) require_gpu_alone();
  refuse_what_device_lacks(flags, request.device);
  request.min_bytes = parse_bytes(flags.min_bytes, "bench: -b");
  request.max_bytes = parse_bytes(flags.max_bytes, "bench: -e");
  request.step_bytes = parse_bytes(flags.step_bytes, "bench: -i");
  if (request.max_bytes < request.min_bytes)
    throw Error(Status::usage, fmt::format("bench: -b {} is more than -e {}", flags.min_bytes, flags.max_bytes),
                "give both, the smaller one as -b");
  if (flags.step_factor == 1 && request.step_bytes == 0)
    throw Error(Status::usage, "bench: -i 0 leads nowhere", "give a step, or a factor with -f");
  request.dtypes = parse_dtypes(flags.dtypes, "bench: -d");
  request.ops = parse_ops(flags.ops, "bench: -o");
  request.memory = flags.registered > 0 ? Memory::registered : Memory::staged;
  request.numerics = parse_word<Numerics>(flags.numerics, "bench: --numerics");
  if (!flags.output.empty() && !flags.output.ends_with(".json"))
    throw Error(Status::usage, "bench: -J '" + flags.output + "' is no .json file", "end its name in .json");
  understand_choice(flags, request);
  return request;
}

namespace {
/// nccl-tests' steps; until f(size) says no.
template <class F>
void for_each_asked(const BenchRequest& request, Bytes width, F f) {
  for (Bytes size = request.min_bytes; size <= request.max_bytes && f(size);) {
    if (request.flags.step_factor > 1)
      size = size == 0 ? width : size * request.flags.step_factor;
    else
      size += request.step_bytes;
  }
}
}  // namespace

std::vector<Bytes> ladder(const BenchRequest& request, Bytes width) {
  std::vector<Bytes> sizes;
  for_each_asked(request, width, [&](Bytes size) {
    sizes.push_back(size / width * width);
    return true;
  });
  return sizes;
}

std::string rounding_note(const BenchRequest& request) {
  std::string note;
  for (const DType dtype : request.dtypes) {
    const Bytes width = size_of(dtype);
    for_each_asked(request, width, [&](Bytes size) {
      if (note.empty() && size % width != 0)
        note = fmt::format("sizes are rounded down to whole elements, as nccl-tests does: {} bytes of {} are {}", size,
                           name_of(dtype), size / width * width);
      return note.empty();
    });
  }
  return note;
}

}  // namespace attune::driver
