// Whether a variant is safe in place has no default: leaving it out is no guess, it does not compile.
// expect: no matching (function|constructor)|too few|could not convert|cannot convert
#include "core/traits.h"

using namespace attune;

#ifdef ATTUNE_MUST_COMPILE
constexpr Traits traits{
    Family::one_shot, "one-shot, pull", Numerics::rank_order, Needs::peer_inputs, InPlace::unsafe, false, 8, 0};
#else
constexpr Traits traits{Family::one_shot, "one-shot, pull", Numerics::rank_order, Needs::peer_inputs, false, 8, 0};
#endif

int main() { return traits.chunked ? 1 : 0; }
