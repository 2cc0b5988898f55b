#include "runtime/call.h"

#include <cstdint>
#include <string>

#include "core/error.h"

namespace attune {

namespace {
void refuse(const std::string& what, const std::string& remedy) {
  throw Error(Status::usage, "allreduce: " + what, remedy);
}
}  // namespace

void check(const AllreduceCall& call) {
  if (call.count < 0) refuse("count is " + std::to_string(call.count), "give a count of 0 or more");
  if (call.count == 0) return;
  if (call.in == nullptr || call.out == nullptr) refuse("a buffer is null", "give both buffers, or a count of 0");
  const auto in = reinterpret_cast<std::uintptr_t>(call.in);
  const auto out = reinterpret_cast<std::uintptr_t>(call.out);
  const auto align = static_cast<std::uintptr_t>(size_of(call.dtype));
  if (in % align != 0 || out % align != 0)
    refuse("a buffer is not aligned to its elements of " + std::to_string(align) + " bytes", "align it");
  const auto bytes = static_cast<std::uintptr_t>(call.count) * align;
  if (in != out && in < out + bytes && out < in + bytes)
    refuse("input and output overlap in part", "give the same buffer twice, or two separate ones");
  const auto kind = call.epilogue.kind;
  if ((kind == EpilogueKind::bias || kind == EpilogueKind::residual) && call.epilogue.operand == nullptr)
    refuse("epilogue '" + std::string(name_of(kind)) + "' has no operand", "set EpilogueSpec::operand");
  if (kind == EpilogueKind::bias && call.epilogue.cols < 1)
    refuse("epilogue 'bias' has no columns", "set EpilogueSpec::cols");
}

}  // namespace attune
