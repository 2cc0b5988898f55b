/// The evidence behind a table, as text for people.
#include <array>
#include <cstdio>

#include "tuner/build_table.h"

namespace attune::tuner {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string size_text(Bytes bytes) {
  constexpr std::array<const char*, 5> units{"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < units.size()) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

std::string interval(const std::optional<Interval>& ci) {
  return ci ? " [" + number(ci->low) + ", " + number(ci->high) + "]" : " [too few samples]";
}

std::string count(int n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string line_of(const Decision& decision, const Plan& ruled) {
  const Candidate* candidate = decision.find(ruled);
  std::string text = "    " + size_text(decision.bytes) + ": ";
  if (candidate == nullptr) return text + "not measured with this plan\n";
  text += number(candidate->time.median_us) + " us" + interval(candidate->time.ci_us);
  if (decision.vendor_us && ruled.variant != "vendor") text += ", vendor " + number(*decision.vendor_us) + " us";
  const Comparison& rival = decision.to_runner_up;
  if (ruled != decision.chosen)
    text += ", within the tie of " + to_string(decision.chosen) + " (" + decision.why + "), " +
            number(1 + candidate->loss) + " x the time of the fastest";
  else if (decision.runner_up)
    text += ", " + number(rival.ratio) + interval(rival.ci) + " x the time of " + to_string(*decision.runner_up) +
            ", " + count(rival.pairs, "pair") + ": " + decision.why;
  else
    text += ": the only plan";
  return text + "; " + count(candidate->time.samples, "sample") + ", " + std::to_string(candidate->time.launches) +
         (candidate->time.launches == 1 ? " launch" : " launches") + ", confidence " +
         std::string(name_of(candidate->confidence)) + "\n";
}

}  // namespace

std::string explain(const TunedKey& tuned, double confidence) {
  std::string text = to_string(tuned.key) + " (intervals at " + number(100 * confidence) + " %)\n";
  for (const RuleSpan& span : tuned.rules) {
    text += "  from " + size_text(span.rule.min_bytes) + ": " + to_string(span.rule.plan) + "\n";
    for (std::size_t i = span.first; i <= span.last; ++i) text += line_of(tuned.decisions[i], span.rule.plan);
  }
  for (const std::string& note : tuned.notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace attune::tuner
