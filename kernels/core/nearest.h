#pragma once
/// "did you mean": the known word that is nearest to a mistyped one.
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// The nearest of `words`, or an empty view when none is near enough to be a likely slip
/// (more than a third of the letters, at least 2, or all of them would have to change).
[[nodiscard]] std::string_view nearest_of(std::string_view word, const auto& words) {
  std::string_view best;
  std::size_t best_distance = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, word.size());
  for (const std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

/// "'bloks', did you mean 'blocks'?" or "'bloks', expected one of a, b, c".
[[nodiscard]] std::string with_suggestion(std::string_view word, const auto& words) {
  const std::string quoted = "'" + std::string(word) + "'";
  if (const std::string_view near = nearest_of(word, words); !near.empty())
    return quoted + ", did you mean '" + std::string(near) + "'?";
  std::string list;
  for (const std::string_view candidate : words) list += (list.empty() ? "" : ", ") + std::string(candidate);
  return quoted + ", expected one of " + (list.empty() ? "nothing" : list);
}

}  // namespace attune
