/// OSU micro-benchmarks' text: size, average latency, and with -f minimum, maximum and iterations.
#include <array>

#include "core/error.h"
#include "tuner/imports/reading.h"

namespace attune::tuner::imports {
namespace {

class OsuReader {
 public:
  explicit OsuReader(const ImportOptions& options) : options_(options) {}

  void line(std::string_view line, bool whole) {
    ++number_;
    const auto words = words_of(line);
    if (words.empty()) return;
    if (words[0].text.starts_with('#')) return comment(line, words);
    if (!allreduce_) {
      ++other_;
      return;
    }
    row(words, whole);
  }

  Imported finish(const std::string& source) {
    auto& notes = imported_.notes;
    if (other_ > 0) notes.push_back(std::to_string(other_) + " lines are of other tests than allreduce: left out");
    if (assumed_ && !imported_.records.empty())
      notes.emplace_back("the log does not say the dtype: f32 is assumed (OSU's default), --dtype says otherwise");
    if (starts_ > 1) notes.push_back(std::to_string(starts_) + " runs in one file, kept apart as launches");
    if (imported_.records.empty())
      throw Error(Status::usage, source + ": no row of osu_allreduce" + (notes.empty() ? "" : ": " + notes.front()),
                  "name the output of osu_allreduce");
    if (options_.ranks == 0) no_ranks(source);
    number_blocks(imported_.records);
    return std::move(imported_);
  }

 private:
  void comment(std::string_view line, const std::vector<Word>& words) {
    if (line.find("# OSU ") != std::string_view::npos) {
      allreduce_ = line.find("Allreduce") != std::string_view::npos;
      imported_.cuda = line.find("CUDA") != std::string_view::npos;
      if (allreduce_) ++starts_;
      imported_.tool = "OSU micro-benchmarks " + std::string(words.back().text);
    }
    const std::size_t named = line.find("Datatype:");
    if (named == std::string_view::npos) return;
    const auto rest = words_of(line.substr(named + 9));
    if (rest.empty()) return;
    std::string_view word = rest[0].text;
    while (word.ends_with('.') || word.ends_with(',')) word.remove_suffix(1);
    dtype_ = dtype_of(word);
    if (!dtype_) imported_.notes.push_back(at_line(number_, "unknown datatype " + std::string(word)));
  }

  void row(const std::vector<Word>& words, bool whole) {
    const auto bytes = integer(words[0].text);
    const bool legible = words.size() > 1 && (whole || words.size() > 2);
    const double time_us = legible ? number(words[1].text).value_or(0) : 0;
    if (!bytes || *bytes < 0 || *bytes > largest_message || time_us <= 0) {
      imported_.notes.push_back(at_line(number_, "no size and time: left out"));
      return;
    }
    assumed_ = assumed_ || (!dtype_ && !options_.dtype);
    const DType dtype = options_.dtype ? *options_.dtype : dtype_.value_or(DType::f32);
    if (*bytes % size_of(dtype) != 0) {
      imported_.notes.push_back(at_line(number_, "the size is no whole element: left out"));
      return;
    }
    const Problem problem{
        .dtype = dtype, .count = *bytes / size_of(dtype), .ranks = options_.ranks, .memory = Memory::staged};
    Record record = record_of(problem, "vendor", time_us);
    record.launch = options_.launch + (starts_ > 1 ? "#" + std::to_string(starts_) : "");
    record.cache = CacheState::hot;
    imported_.records.push_back(std::move(record));
  }

  const ImportOptions& options_;
  Imported imported_{.kind = ImportKind::osu_text, .cuda = false};
  std::optional<DType> dtype_{};
  std::size_t number_ = 0, other_ = 0;
  int starts_ = 0;
  bool allreduce_ = false, assumed_ = false;
};

}  // namespace

Imported read_osu_text(std::string_view text, const std::string& source, const ImportOptions& options) {
  OsuReader reader(options);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t feed = text.find('\n', from);
    reader.line(text.substr(from, feed == std::string_view::npos ? feed : feed - from), feed != std::string_view::npos);
    from = feed == std::string_view::npos ? text.size() : feed + 1;
  }
  return reader.finish(source);
}

}  // namespace attune::tuner::imports
