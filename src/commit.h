#pragma once
/// What was built, as git names it.
#include <string_view>

namespace attune::driver {

/// `git describe` when the build was configured; empty outside of a checkout.
[[nodiscard]] std::string_view built_commit();

}  // namespace attune::driver
