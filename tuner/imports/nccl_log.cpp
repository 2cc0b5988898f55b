#include "tuner/imports/nccl_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>
#include <sstream>
#include <vector>

namespace attune::tuner {

namespace {
/// Versions up to 2.23 print numbers, later ones these words.
constexpr std::array<std::string_view, 7> algorithms{"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                                     "nvls_tree", "pat"};
constexpr std::array<std::string_view, 3> protocols{"ll", "ll128", "simple"};

std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

std::string named(const std::string& word, std::span<const std::string_view> names) {
  const auto number = number_in(word);
  return number && static_cast<std::size_t>(*number) < names.size()
             ? std::string(names[static_cast<std::size_t>(*number)])
             : lower(word);
}

/// "Algo RING proto LL channel{Lo..Hi}={0..1}", or of old "Algo 1 proto 0 time 12.5".
std::string algorithm_of(const std::vector<std::string>& words) {
  if (words.size() < 4 || words[2] != "proto") return {};
  std::string text = named(words[1], algorithms) + "/" + named(words[3], protocols);
  constexpr std::string_view key = "channel{Lo..Hi}={";
  for (const std::string& word : words)
    if (word.starts_with(key) && word.ends_with('}'))
      text += " channels " + word.substr(key.size(), word.size() - key.size() - 1);
  return text;
}

/// "Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512 nWorks 1"
std::string kernel_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return {};
  std::string text = "symmetric/" + words[1];
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const auto value = number_in(words[i + 1]);
    if (words[i] == "nchannels" && value && *value > 0) text += " channels 0.." + std::to_string(*value - 1);
    if (words[i] == "nthreads" && value) text += " threads " + words[i + 1];
  }
  return text;
}
}  // namespace

std::string ran_by_nccl(std::string_view log) {
  constexpr std::string_view mark = " Bytes -> ";
  std::string last;
  while (!log.empty()) {
    const std::size_t feed = log.find('\n');
    if (feed == std::string_view::npos) break;  // cut
    const std::string_view line = log.substr(0, feed);
    log.remove_prefix(feed + 1);
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    std::istringstream stream{std::string(line.substr(at + mark.size()))};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    std::string text;
    if (!words.empty() && words[0] == "Algo") text = algorithm_of(words);
    if (!words.empty() && words[0] == "Kernel") text = kernel_of(words);
    if (!text.empty()) last = text;
  }
  return last;
}

}  // namespace attune::tuner
