// Alone, so that a commit recompiles nothing else.
#include "src/commit.h"

namespace attune::driver {

std::string_view built_commit() { return ATTUNE_COMMIT; }

}  // namespace attune::driver
