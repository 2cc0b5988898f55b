#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "random.h"
#include "variants/registry.h"

namespace attune::conformance {

namespace {
constexpr Bytes guard_bytes = 192;
constexpr Bytes most_offset = 1024;
constexpr std::byte guard_byte{0xA5};
constexpr std::byte old_output{0xCD};
constexpr std::byte overwritten{0x5E};
constexpr std::align_val_t page{4096};
constexpr Index bias_cols = 37;

Index draw_count(Random& random, DType dtype, int ranks, Bytes most_bytes) {
  const Bytes width = size_of(dtype);
  const Index pack = 64 / width;
  Index count = 0;
  switch (random.below(8)) {
    case 0:
      count = random.below(4);
      break;
    case 1:
      count = random.pick<Index>({15, 16, 17, 31, 33, 63, 64, 65, 127, 129});
      break;
    case 2:
      count = random.pick<Index>({97, 101, 997, 1009, 4099, 10007, 65537});
      break;
    case 3:  // around pack boundaries of every shard
      count = pack * random.below(3 * ranks + 1) + random.below(3) - 1;
      break;
    case 4:  // around the capacity of mailboxes and pieces
      count = random.pick<Bytes>({56, 64, 4096, 16384, 65536}) / width + random.below(3) - 1;
      break;
    case 5:
      count = random.one_in(8) ? 1000003 : random.below(20000);
      break;
    default:
      count = random.below(600);
  }
  return std::clamp<Index>(count, 0, most_bytes / width);
}

Place draw_place(Random& random, int mode, DType dtype) {
  Place place;
  place.registered = mode == 0 || (mode == 2 && random.one_in(2));
  const Index pack = 64 / size_of(dtype);
  place.offset = random.one_in(2) ? pack * random.below(4) : random.below(4 * pack);
  if (mode == 0 && !random.one_in(4)) place.offset = place.offset / pack * pack;
  return place;
}

Plan draw_plan(Random& random, const VariantInfo& info, int most_blocks, Bytes bytes) {
  Plan plan;
  plan.variant = std::string(info.name);
  const int most = std::min(most_blocks, info.traits.max_blocks);
  plan.blocks =
      std::min(most, random.one_in(8) ? 1 + static_cast<int>(random.below(most)) : random.pick({1, 1, 1, 2, 2, 3, 4}));
  if (info.traits.chunked) {
    plan.chunk_bytes = random.pick<Bytes>({0, 1, 64, 128, 192, 1024, 4096, 65536});
    if (plan.chunk_bytes != 0) plan.chunk_bytes = std::max(plan.chunk_bytes, bytes / 64);
  }
  return plan;
}

/// Fills the output's place and the guards around it, or checks that the guards are as they were.
void lay_guards(std::byte* at, Bytes bytes, bool keep_middle) {
  std::memset(at - guard_bytes, static_cast<int>(guard_byte), guard_bytes);
  std::memset(at + bytes, static_cast<int>(guard_byte), guard_bytes);
  if (!keep_middle) std::memset(at, static_cast<int>(old_output), static_cast<std::size_t>(bytes));
}
std::string check_guards(const std::byte* at, Bytes bytes, const char* which) {
  for (Bytes k = 0; k < guard_bytes; ++k) {
    if (at[-1 - k] != guard_byte) return fmt::format("byte {} before the {} was written", k + 1, which);
    if (at[bytes + k] != guard_byte) return fmt::format("byte {} behind the {} was written", k + 1, which);
  }
  return {};
}

/// The reference of a case: the exact bits where there is one answer, else the bound of the variant's class.
std::string check_result(const Case& c, const EpilogueSpec& epilogue, const void* got) {
  const Numerics numerics = variant(c.plan.variant).traits.numerics;
  if (c.content.data != Data::random || numerics == Numerics::rank_order || !is_float(c.content.dtype)) {
    std::vector<std::byte> want(static_cast<std::size_t>(c.count * size_of(c.content.dtype)));
    rank_order_result(c.content, epilogue, c.count, want.data());
    const auto error = compare_bits(c.content.dtype, got, want.data(), c.count);
    if (!error.empty()) return error;
  }
  if (c.content.data != Data::random) return {};
  return compare_with_bound(c.content, epilogue, numerics, got, c.count);
}
}  // namespace

std::vector<std::string_view> variants_to_test(bool with_vendor) {
  const char* only = std::getenv("ATTUNE_TEST_VARIANT");
  std::vector<std::string_view> names;
  for (const auto& info : variant_table) {
    const bool possible = info.traits.needs != Needs::multimem && info.traits.needs != Needs::many_nodes;
    if (!possible || (info.traits.numerics == Numerics::vendor && !with_vendor)) continue;
    if (only == nullptr || info.name == only) names.push_back(info.name);
  }
  return names;
}

Case draw(std::uint64_t seed, const Choices& choices) {
  Random random(mix(seed));
  const auto& info = variant(choices.variants[random.next() % choices.variants.size()]);
  Case c;
  c.content.seed = random.next();
  c.content.ranks = choices.ranks;
  c.content.dtype = all_of<DType>()[random.next() % 12];
  c.content.op = random.one_in(2) ? Op::sum : all_of<Op>()[random.next() % 5];
  c.content.data = random.one_in(3) ? Data::random : Data::exact;
  const bool extreme = c.content.op == Op::min || c.content.op == Op::max;
  if (extreme) c.content.data = Data::exact;
  if (info.traits.numerics == Numerics::vendor && (c.content.data == Data::exact || !is_float(c.content.dtype)))
    c.content.data = Data::finite;
  c.count = draw_count(random, c.content.dtype, choices.ranks, choices.most_bytes);
  c.plan = draw_plan(random, info, choices.most_blocks, c.count * size_of(c.content.dtype));
  c.placement = random.one_in(3) ? Placement::in_place : Placement::out_of_place;
  c.epilogue = random.one_in(3) ? all_of<EpilogueKind>()[random.next() % 5] : EpilogueKind::none;
  if (c.epilogue != EpilogueKind::none && extreme && is_float(c.content.dtype)) c.content.data = Data::finite;
  const int mode = static_cast<int>(random.below(3));  // all registered, all staged, every rank as it likes
  for (int r = 0; r < choices.ranks; ++r) {
    const auto k = static_cast<std::size_t>(r);
    c.in[k] = draw_place(random, mode, c.content.dtype);
    c.out[k] = c.placement == Placement::in_place ? c.in[k] : draw_place(random, mode, c.content.dtype);
  }
  return c;
}

std::string describe(const Case& c) {
  constexpr std::string_view data[] = {"exact", "finite", "random"};
  std::string text =
      fmt::format("{} {} {} ranks={} count={} {} epilogue={} data={} in/out:", to_string(c.plan),
                  name_of(c.content.dtype), name_of(c.content.op), c.content.ranks, c.count, name_of(c.placement),
                  name_of(c.epilogue), data[static_cast<std::size_t>(c.content.data)]);
  for (int r = 0; r < c.content.ranks; ++r) {
    const auto k = static_cast<std::size_t>(r);
    text += fmt::format(" {}{}/{}{}", c.in[k].registered ? "r" : "s", c.in[k].offset, c.out[k].registered ? "r" : "s",
                        c.out[k].offset);
  }
  return text;
}

Arena::Arena(Communicator& comm, Bytes most_bytes)
    : comm_(comm),
      stride_((most_bytes + 2 * guard_bytes + most_offset + 4095) / 4096 * 4096),
      registered_(static_cast<std::byte*>(comm.allocate_bytes(2 * stride_))),
      own_(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(2 * stride_), page))) {}
Arena::~Arena() {
  ::operator delete(own_, page);
  comm_.release(registered_);
}
std::byte* Arena::at(const Place& place, DType dtype, int which) {
  return (place.registered ? registered_ : own_) + which * stride_ + guard_bytes + place.offset * size_of(dtype);
}

std::string run(const Case& c, Communicator& comm, Arena& arena, std::uint64_t& hash) {
  const DType dtype = c.content.dtype;
  const Bytes bytes = c.count * size_of(dtype);
  const auto me = static_cast<std::size_t>(comm.rank());
  std::byte* in = arena.input(c.in[me], dtype);
  const bool in_place = c.placement == Placement::in_place;
  std::byte* out = in_place ? in : arena.output(c.out[me], dtype);
  lay_guards(out, bytes, in_place);
  fill(c.content, comm.rank(), c.count, in);

  const Index cols = c.epilogue == EpilogueKind::bias ? bias_cols : c.count;
  std::vector<std::byte> operand(static_cast<std::size_t>(std::max<Index>(cols, 1) * size_of(dtype)));
  fill_operand(c.content, cols, operand.data());
  const EpilogueSpec epilogue{c.epilogue, is_float(dtype) ? -0.75 : 0.5, operand.data(), std::max<Index>(cols, 1)};
  comm.allreduce(in, out, c.count, dtype, c.content.op, c.plan, epilogue);

  const std::vector<std::byte> got(out, out + bytes);
  const std::vector<std::byte> after(in, in + bytes);
  std::memset(in, static_cast<int>(overwritten), static_cast<std::size_t>(bytes));
  hash = hash_of(got.data(), bytes);
  auto error = check_guards(out, bytes, "output");
  if (error.empty()) error = check_result(c, epilogue, got.data());
  if (!error.empty() || in_place) return error;
  std::vector<std::byte> before(static_cast<std::size_t>(bytes));
  fill(c.content, comm.rank(), c.count, before.data());
  const auto changed = compare_bits(dtype, after.data(), before.data(), c.count);
  return changed.empty() ? "" : "the input was changed at " + changed;
}

}  // namespace attune::conformance
