#pragma once
/// The words that all parts share: element types, operations and the axes of a problem, with their
/// public names. Strings exist only at the boundary (JSON, command line); inside, these are enums.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attune {

using Index = std::int64_t;  ///< Counts and positions of elements: messages go beyond 2^31.
using Bytes = std::int64_t;  ///< Sizes in bytes; binary units (1M = 1048576).

inline constexpr int max_ranks = 8;  ///< Ranks of one team (one node, one NVLink domain).

enum class DType : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, u32, i64, u64 };
enum class Op : std::uint8_t { sum, avg, prod, min, max };
enum class Collective : std::uint8_t { allreduce, reduce_scatter_rms_norm, allreduce_rms_norm };
enum class Placement : std::uint8_t { out_of_place, in_place };
enum class Memory : std::uint8_t { registered, staged };
enum class LaunchMode : std::uint8_t { eager, graph };
/// What rounding a variant does; see `Traits::numerics`.
enum class Numerics : std::uint8_t { rank_order, per_hop, in_switch, vendor };
/// The prebuilt elementwise epilogues, fused at the store.
enum class EpilogueKind : std::uint8_t { none, scale, bias, residual, relu };

namespace detail {
/// Public names of an enum, in the order of its values.
template <class E>
struct Names;
template <>
struct Names<DType> {
  static constexpr const char* what = "dtype";
  static constexpr std::array<std::string_view, 12> list{"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                                         "i8",  "u8",  "i32", "u32",  "i64",    "u64"};
};
template <>
struct Names<Op> {
  static constexpr const char* what = "op";
  static constexpr std::array<std::string_view, 5> list{"sum", "avg", "prod", "min", "max"};
};
template <>
struct Names<Collective> {
  static constexpr const char* what = "collective";
  static constexpr std::array<std::string_view, 3> list{"allreduce", "reduce_scatter_rms_norm", "allreduce_rms_norm"};
};
template <>
struct Names<Placement> {
  static constexpr const char* what = "placement";
  static constexpr std::array<std::string_view, 2> list{"out_of_place", "in_place"};
};
template <>
struct Names<Memory> {
  static constexpr const char* what = "memory";
  static constexpr std::array<std::string_view, 2> list{"registered", "staged"};
};
template <>
struct Names<LaunchMode> {
  static constexpr const char* what = "launch mode";
  static constexpr std::array<std::string_view, 2> list{"eager", "graph"};
};
template <>
struct Names<Numerics> {
  static constexpr const char* what = "numerics class";
  static constexpr std::array<std::string_view, 4> list{"rank_order", "per_hop", "in_switch", "vendor"};
};
template <>
struct Names<EpilogueKind> {
  static constexpr const char* what = "epilogue";
  static constexpr std::array<std::string_view, 5> list{"none", "scale", "bias", "residual", "relu"};
};
}  // namespace detail

/// An enum with public names.
template <class E>
concept Named = requires {
  detail::Names<E>::list;
};

/// The public name of a value: what JSON, tables and the command line say.
template <Named E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
  return detail::Names<E>::list[static_cast<std::size_t>(value)];
}

/// The value with this public name, or nothing.
template <Named E>
[[nodiscard]] constexpr std::optional<E> parse(std::string_view name) {
  for (std::size_t i = 0; i < detail::Names<E>::list.size(); ++i)
    if (detail::Names<E>::list[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

/// Every value of a named enum, in order.
template <Named E>
[[nodiscard]] constexpr auto all_of() {
  std::array<E, detail::Names<E>::list.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i);
  return values;
}

/// Bytes of one element.
[[nodiscard]] constexpr Bytes size_of(DType dtype) {
  constexpr std::array<Bytes, 12> sizes{8, 4, 2, 2, 1, 1, 1, 1, 4, 4, 8, 8};
  return sizes[static_cast<std::size_t>(dtype)];
}
[[nodiscard]] constexpr bool is_float(DType dtype) { return dtype <= DType::f8e5m2; }

}  // namespace attune
