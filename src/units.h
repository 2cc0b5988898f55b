#pragma once
/// Sizes and times as people write and read them.
#include <string>
#include <string_view>

#include "core/hardware.h"
#include "core/types.h"
#include "device/pack.h"

namespace attune::driver {

/// "8", "64K", "1.5M", "2G", "1T" (binary units, either case, an optional trailing "B" or "iB"). Throws Error(usage)
/// that names `what` for anything else, for negative and fractional bytes, and for more than 2^60.
[[nodiscard]] Bytes parse_bytes(std::string_view text, std::string_view what);

/// The shortest exact form: 1048576 → "1M", 1536 → "1536".
[[nodiscard]] std::string format_bytes(Bytes bytes);

/// What chunks are multiples of: the packs of a device, which an algorithm never cuts.
[[nodiscard]] constexpr Bytes chunk_grain(DeviceKind device) {
  return device == DeviceKind::cuda ? 16 : Bytes{host_pack_bytes};
}

/// For people: 1536 → "1.5 KiB", 33554432 → "32 MiB".
[[nodiscard]] std::string readable_bytes(Bytes bytes);

}  // namespace attune::driver
