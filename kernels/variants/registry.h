#pragma once
/// The table of all variants, built at compile time from variants.txt: names, traits, cost cards. No macro, no
/// static initialiser, no second list.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/traits.h"
#include "variants/all_variants.h"  // generated from variants.txt
#include "variants/composites.h"

namespace attune {

struct VariantInfo {
  std::string_view name;
  Traits traits;
  Cost (*cost)(int ranks, Bytes bytes);
  Bytes (*scratch)(int ranks, Bytes bytes);  ///< Scratch of one rank, bytes.
  bool composite;                            ///< A host sequence, not a kernel in the vocabulary.
};

template <class V>
concept Described = requires(int ranks, Bytes bytes) {
  { V::traits } -> std::convertible_to<const Traits&>;
  { V::cost(ranks, bytes) } -> std::same_as<Cost>;
  { V::scratch(ranks, bytes) } -> std::same_as<Bytes>;
};

namespace detail {
template <Described V>
constexpr VariantInfo describe(std::string_view name, bool composite) {
  return {name, V::traits, &V::cost, &V::scratch, composite};
}
template <class... V>
constexpr auto describe_all(TypeList<V...>) {
  return std::array{describe<V>(variant_name<V>, false)..., describe<variants::naive>("naive", true),
                    describe<variants::vendor>("vendor", true)};
}
template <class... V>
constexpr auto describe_fused(TypeList<V...>) {
  static_assert(((variant_name<V> == name_of(V::collective)) && ...), "a fused kernel is named as its collective");
  return std::array{describe<V>(variant_name<V>, false)...};
}
}  // namespace detail

/// The variants of allreduce, in the order of variants.txt, then the composites.
inline constexpr auto variant_table = detail::describe_all(AllVariants{});
/// The kernels of the other collectives, in the order of fused.txt: each is the only one of its collective.
inline constexpr auto fused_table = detail::describe_fused(FusedVariants{});

constexpr bool variant_names_are_unique() {
  for (std::size_t a = 0; a < variant_table.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (variant_table[a].name == variant_table[b].name) return false;
  return true;
}
static_assert(variant_names_are_unique());

/// The variant of this name (`vendor:…` finds `vendor`), or nullptr.
[[nodiscard]] constexpr const VariantInfo* find_variant(std::string_view name) {
  if (name.starts_with("vendor:")) name = "vendor";
  for (const auto& info : variant_table)
    if (info.name == name) return &info;
  for (const auto& info : fused_table)
    if (info.name == name) return &info;
  return nullptr;
}

/// The names of allreduce's variants, in order.
[[nodiscard]] constexpr auto variant_names() {
  std::array<std::string_view, variant_table.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = variant_table[i].name;
  return names;
}

/// The same, then the fused kernels: every name that a table may hold.
[[nodiscard]] constexpr auto all_variant_names() {
  std::array<std::string_view, variant_table.size() + fused_table.size()> names;
  std::size_t at = 0;
  for (const auto& info : variant_table) names[at++] = info.name;
  for (const auto& info : fused_table) names[at++] = info.name;
  return names;
}

/// As find_variant; throws Error(usage) that lists the known names.
[[nodiscard]] inline const VariantInfo& variant(std::string_view name) {
  if (const auto* info = find_variant(name)) return *info;
  std::string known;
  for (const auto name_known : all_variant_names()) known += (known.empty() ? "" : ", ") + std::string(name_known);
  throw Error(Status::usage, "unknown variant '" + std::string(name) + "'", "known: " + known);
}

/// Calls f.template operator()<V>() for every variant of allreduce in the vocabulary.
template <class F>
constexpr void for_each_variant(F&& f) {
  [&]<class... V>(TypeList<V...>) { (f.template operator()<V>(), ...); }(AllVariants{});
}

}  // namespace attune
