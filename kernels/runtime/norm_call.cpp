#include "runtime/norm_call.h"

#include <cstdint>
#include <string>

#include "core/error.h"

namespace attune {

namespace {
struct Range {
  const char* name;
  std::uintptr_t first;
  std::uintptr_t end;
  [[nodiscard]] bool overlaps(const Range& other) const { return first < other.end && other.first < end; }
};

class Checker {
 public:
  explicit Checker(const NormCall& call) : call_(call) {}

  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
    throw Error(Status::usage, std::string(name_of(call_.collective)) + ": " + what, remedy);
  }
  [[nodiscard]] Range range(const char* name, const void* memory, Index rows) const {
    const auto width = static_cast<std::uintptr_t>(size_of(call_.dtype));
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const auto bytes = static_cast<std::uintptr_t>(rows * call_.cols) * width;
    if (bytes > 0 && memory == nullptr) refuse(std::string(name) + " is null", "give every buffer");
    if (first % width != 0) refuse(std::string(name) + " is not aligned to its elements", "align it");
    return {name, first, first + bytes};
  }
  /// `may_be_one`: the same buffer twice is allowed.
  void keep_apart(const Range& a, const Range& b, bool may_be_one) const {
    if (!a.overlaps(b) || (may_be_one && a.first == b.first)) return;
    refuse(std::string(a.name) + " and " + b.name + " overlap", "give separate buffers");
  }

 private:
  const NormCall& call_;
};
}  // namespace

void check(const NormCall& call, int rank, int ranks) {
  const Checker checker(call);
  if (call.collective == Collective::allreduce) checker.refuse("has no norm", "call allreduce");
  if (call.rows < 0 || call.cols < 0) checker.refuse("a size is negative", "give 0 or more rows and columns");
  if (call.dtype != DType::f32 && call.dtype != DType::f16 && call.dtype != DType::bf16)
    throw Error(Status::unsupported,
                std::string(name_of(call.collective)) + ": no kernel for dtype " + std::string(name_of(call.dtype)),
                "use f32, f16 or bf16");
  const bool everywhere = call.collective == Collective::allreduce_rms_norm;
  const Index result_rows = everywhere ? call.rows : rows_of(call.rows, rank, ranks).count;
  const Range in = checker.range("in", call.in, call.rows);
  const Range sum = checker.range("sum", call.sum, result_rows);
  const Range normalised = checker.range("normalised", call.normalised, result_rows);
  const Range gamma = checker.range("gamma", call.norm.gamma, call.rows > 0 ? 1 : 0);
  checker.keep_apart(in, sum, everywhere);
  checker.keep_apart(in, normalised, false);
  checker.keep_apart(sum, normalised, false);
  checker.keep_apart(gamma, sum, false);
  checker.keep_apart(gamma, normalised, false);
  if (call.residual == nullptr) return;
  if (!everywhere) checker.refuse("takes no residual", "use allreduce_rms_norm, or add it yourself");
  const Range residual = checker.range("residual", call.residual, call.rows);
  checker.keep_apart(residual, sum, true);
  checker.keep_apart(residual, normalised, false);
}

}  // namespace attune
