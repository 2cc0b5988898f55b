#pragma once
#include <cstdint>

namespace attune {

/// How ranks store what their peers will read (host; see runtime/store_trial.h). Results have the same bits.
enum class Stores : std::uint8_t {
  tried,          ///< As a trial of the first calls, and of a few calls in every 512, tells.
  past_cache,     ///< Non-temporal.
  through_cache,  ///< Ordinary.
};

}  // namespace attune
