#include "src/validate.h"

#include <cstring>
#include <thread>

#include "src/validate_norm.h"
#include "variants/registry.h"

namespace attune::driver {

namespace {
using tuner::CellStatus;

/// A hash that reads 8 bytes at a time; for comparing ranks, not for security.
std::uint64_t hash_of(const void* memory, Bytes bytes) {
  const auto* at = static_cast<const std::byte*>(memory);
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (Bytes i = 0; i < bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, static_cast<std::size_t>(std::min<Bytes>(8, bytes - i)));
    hash = (hash ^ word) * 0x100000001B3ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class V>
void mark_wrong(V& verdict, const std::string& text) {
  verdict.outcome = {};
  verdict.outcome.status = CellStatus::wrong;
  text.copy(verdict.outcome.reason.data(), verdict.outcome.reason.size() - 1);
}
}  // namespace

Validator::Validator(SweepTeam& team, Executor& executor, const Problem& problem, std::uint64_t seed)
    : team_(team),
      executor_(executor),
      problem_(problem),
      exact_(problem, DataKind::exact, team.rank(), seed),
      random_(problem, DataKind::random, team.rank(), seed + 1),
      outputs_(output_of(problem, team.rank()).count) {}

/// In each call another rank brings its input some time after the others have entered: who reads before all inputs are
/// ready gets old data.
void Validator::come_late_in_turn() {
  if (turn_++ % team_.size() != team_.rank()) return;
  if (team_.oversubscribed(1)) return std::this_thread::sleep_for(std::chrono::microseconds(200));
  const std::int64_t until = now_ns() + 50'000;
  while (now_ns() < until) {
  }
}

/// The images of this problem's operands; they stay the same over all calls on one communicator.
void Validator::look_at_operands(const Plan& plan) {
  const Operands before = operands_;
  operands_ = team_.operands(problem_, plan, 0);
  const bool known = operands_.in == before.in && operands_.out == before.out && in_.data() != nullptr;
  if (known && images_of_ == team_.replaced()) return;
  images_of_ = team_.replaced();
  const Bytes out_bytes = outputs_ * size_of(problem_.dtype);
  in_ = HostImage(team_.comm(), operands_.in, problem_.bytes(), MessageBuffers::guard_bytes);
  out_ = HostImage(team_.comm(), operands_.out, out_bytes, MessageBuffers::guard_bytes);
  normalised_ = HostImage(team_.comm(), operands_.normalised, out_bytes, MessageBuffers::guard_bytes);
}

Validator::Verdict Validator::call(TestData& data, const Plan& plan, bool scribble) {
  ++calls_;
  const Bytes out_bytes = outputs_ * size_of(problem_.dtype);
  const bool in_place = problem_.placement == Placement::in_place;
  look_at_operands(plan);
  operands_.epilogue = team_.for_device(data.epilogue(calls_), problem_);
  for (HostImage* image : {in_place ? &in_ : &out_, &normalised_}) {
    if (image->data() == nullptr) continue;
    if (!in_place) std::memset(image->data(), 0xFF, static_cast<std::size_t>(out_bytes));
    MessageBuffers::write_guards(image->data(), out_bytes);
    image->upload();
  }
  team_.meeting().barrier();
  come_late_in_turn();
  data.fill_input(in_.data(), calls_);
  in_.upload();
  Verdict verdict;
  verdict.outcome = run_call(executor_, team_, problem_, plan, operands_);
  if (verdict.outcome.status != CellStatus::ok) return verdict;
  for (HostImage* image : {&in_, &out_, &normalised_})
    if (image->data() != nullptr && !(in_place && image == &out_)) image->download();
  if (scribble && !in_place) {  // the caller may
    std::memset(in_.data(), 0x5A, static_cast<std::size_t>(problem_.bytes()));
    in_.upload();
  }
  check_memory(verdict, data, scribble);
  return verdict;
}

/// Nothing was written where it must not be.
void Validator::check_memory(Verdict& verdict, const TestData& data, bool scribbled) const {
  const std::string rank = "rank " + std::to_string(team_.rank()) + ": ";
  for (const void* image : {output().data(), normalised_.data()})
    if (image != nullptr)
      if (const auto fault = MessageBuffers::broken_guard(image, outputs_ * size_of(problem_.dtype)); !fault.empty())
        mark_wrong(verdict, rank + fault);
  if (problem_.placement == Placement::in_place || scribbled) return;
  if (const auto at = data.changed_input(in_.data(), calls_))
    mark_wrong(verdict, rank + "element " + std::to_string(*at) + " of the input was changed");
}

/// The fused kernels' second output must be the norm of the first as it stands.
void Validator::check_normalised(Verdict& verdict) const {
  if (problem_.collective == Collective::allreduce || verdict.outcome.status != CellStatus::ok) return;
  RmsNormSpec norm = operands_.norm;
  norm.gamma = team_.gamma();
  if (const auto fault = check_norm(problem_, outputs_, output().data(), normalised_.data(), norm))
    mark_wrong(verdict, "normalised: " + to_string(*fault, team_.rank()));
}

Numerics Validator::numerics_of(const Plan& plan) const {
  const Numerics numerics = variant(plan.variant).traits.numerics;
  const bool two_steps = problem_.collective != Collective::allreduce && problem_.epilogue != EpilogueKind::none;
  return two_steps && numerics == Numerics::rank_order ? Numerics::per_hop : numerics;  // sum and residual both round
}

Validator::Verdict Validator::exact_call(const Plan& plan, bool scribble) {
  Verdict verdict = call(exact_, plan, scribble);
  if (verdict.outcome.status != CellStatus::ok) return verdict;
  if (const auto fault = exact_.check_exact(output().data(), calls_))
    mark_wrong(verdict, "exact data: " + to_string(*fault, team_.rank()));
  check_normalised(verdict);
  return verdict;
}

Validator::Verdict Validator::random_call(const Plan& plan) {
  const Numerics numerics = numerics_of(plan);
  calls_ = 0;  // the data that the vendor had
  Verdict verdict = call(random_, plan, false);
  if (verdict.outcome.status != CellStatus::ok) return verdict;
  verdict.bits = hash_of(output().data(), outputs_ * size_of(problem_.dtype));
  if (const auto fault = random_.check_close(output().data(), calls_, numerics)) {
    mark_wrong(verdict, "random data: " + to_string(*fault, team_.rank()));
  } else if (!vendor_out_.empty()) {
    if (const auto far = random_.check_against(output().data(), vendor_out_.data(), calls_, numerics, Numerics::vendor))
      mark_wrong(verdict, "against the vendor: " + to_string(*far, team_.rank()));
  }
  check_normalised(verdict);
  return verdict;
}

/// One verdict for all: the first rank's that is not ok, and whether all have the same bits.
CellCheck Validator::agree(const Verdict& mine, bool same_bits) {
  const auto all = team_.meeting().exchange(mine);
  std::vector<CallOutcome> outcomes;
  for (const Verdict& verdict : all) outcomes.push_back(verdict.outcome);
  if (const CallOutcome worst = worst_of(outcomes); worst.status != CellStatus::ok)
    return {worst.status, worst.reason.data()};
  for (std::size_t r = 1; same_bits && r < all.size(); ++r)
    if (all[r].bits != all[0].bits)
      return {CellStatus::wrong, "rank " + std::to_string(r) + " has other bits than rank 0 for the same random data"};
  return {};
}

CellCheck Validator::check(const Plan& plan) {
  ended_with_vendor_ = false;
  const bool vendor = variant(plan.variant).traits.numerics == Numerics::vendor;
  if (vendor_out_.empty() && !vendor && !vendor_fails_ && team_.comm().why_not("vendor").empty()) {
    const Verdict verdict = random_call({});
    const CellCheck check = agree(verdict, false);
    const bool wrong = check.status == CellStatus::wrong;
    vendor_fails_ = check.status != CellStatus::ok && !wrong;
    ended_with_vendor_ = vendor_fails_ && check.status != CellStatus::unsupported;
    if (wrong || ended_with_vendor_) return {check.status, "the vendor, to compare with: " + check.reason};
    const std::byte* out = output().data();
    if (!vendor_fails_) vendor_out_.assign(out, out + outputs_ * size_of(problem_.dtype));
  }
  for (const bool scribble : {false, true}) {
    CellCheck check = agree(exact_call(plan, scribble), false);
    if (check.status != CellStatus::ok) return check;
  }
  const bool everywhere = problem_.collective != Collective::reduce_scatter_rms_norm;
  return agree(random_call(plan), !vendor && everywhere);
}

}  // namespace attune::driver
