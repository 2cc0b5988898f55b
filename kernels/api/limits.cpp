#include "api/limits.h"

#include "core/error.h"
#include "runtime/available.h"
#include "runtime/composites/vendor_choices.h"
#include "variants/registry.h"

namespace attune {

std::string why_never_on_host(std::string_view variant) {
  if (variant.starts_with("vendor:")) {
    try {
      (void)host::parse_vendor_choice(variant);
    } catch (const Error& error) {
      return error.what();
    }
  }
  const VariantInfo* info = find_variant(variant);
  return info == nullptr ? "" : host::why_not(*info);
}

/// Whether a node has a switch that adds is known at the call, and the vendor or the way over the host stand in.
std::string why_never_on_cuda(std::string_view variant) {
  const VariantInfo* info = find_variant(variant);
  if (info != nullptr && info->traits.needs == Needs::domains) return "is for ranks on CPUs";
  constexpr std::string_view choices = "vendor:nccl/";
  if (!variant.starts_with("vendor:") || variant.starts_with(choices)) return {};
  return "the vendor is NCCL, expected vendor or " + std::string(choices) + "ALGORITHM";
}

}  // namespace attune
