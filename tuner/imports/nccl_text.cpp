/// nccl-tests' text. Its columns are read from its own header, because versions and flags add some; a file may hold
/// several runs, a run may end anywhere, and a half (out-of-place or in-place) may be missing.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "core/error.h"
#include "tuner/imports/reading.h"

namespace attune::tuner::imports {
namespace {

constexpr std::array<std::string_view, 4> standard_half{"time", "algbw", "busbw", "#wrong"};

/// The columns of a row behind size, count, type, redop and root.
struct Layout {
  std::vector<std::string_view> half{standard_half.begin(), standard_half.end()};
  std::vector<Placement> halves{Placement::out_of_place, Placement::in_place};
  std::size_t leading = 5;
  std::size_t second_at = 0;  ///< Where the second half begins in a line; 0 = unknown.
  bool cpu_time = false;
};

/// One start of nccl-tests in the file.
struct Run {
  std::size_t first_line = 1;
  std::string collective{};
  Layout layout{};
  int ranks = 0;
  bool two_rank_zeros = false;
  bool graph = false;
  bool footer = false;
  std::size_t rows = 0;
  Mode mode = Mode::throughput;
  CacheState cache = CacheState::rotating;
  Memory memory = Memory::staged;

  [[nodiscard]] bool allreduce() const {
    return collective.empty() || collective.starts_with("all_reduce") || collective.starts_with("allreduce");
  }
};

using PlanPlace = std::tuple<std::size_t, Bytes, DType, Op, Placement>;

class LogReader {
 public:
  LogReader(std::string_view text, const ImportOptions& options) : text_(text), options_(options) {}
  Imported read(const std::string& source);

 private:
  void line(std::string_view line, bool whole);
  void comment(std::string_view line, const std::vector<Word>& words);
  void settings(std::string_view line, const std::vector<Word>& words);
  void device(std::string_view line, const std::vector<Word>& words);
  void columns(const std::vector<Word>& words);
  void plan(const std::vector<Word>& words);
  void row(std::vector<Word> words, bool whole);
  [[nodiscard]] std::optional<Problem> problem_of(const std::vector<Word>& words);
  void half(const Problem& problem, Placement placement, const std::vector<Word>& words, std::size_t from);
  void begin_run();
  void end_run();
  void note(const std::string& what) { imported_.notes.push_back(at_line(number_, what)); }

  std::string_view text_;
  const ImportOptions& options_;
  Imported imported_{};
  Run run_{};
  std::size_t number_ = 0;
  std::size_t runs_ = 1;
  std::size_t strange_ = 0, first_strange_ = 0;
  std::size_t unchecked_ = 0;
  bool without_ranks_ = false;
  std::vector<std::size_t> run_of_record_{};
  std::map<PlanPlace, Plan> plans_{};
};

/// A new header after rows: the file holds another run.
void LogReader::begin_run() {
  if (run_.rows == 0 && !run_.footer) return;
  end_run();
  run_ = Run{.first_line = number_};
  ++runs_;
}

void LogReader::end_run() {
  const std::string name = "the run from line " + std::to_string(run_.first_line) + " on";
  if (run_.rows > 0 && !run_.allreduce())
    imported_.notes.push_back(name + " is of " + run_.collective + ", no allreduce: left out");
  if (run_.rows > 0 && run_.allreduce() && !run_.footer)
    imported_.notes.push_back(name + " has no closing lines: the log ends early");
  if (run_.two_rank_zeros)
    imported_.notes.push_back(name + " names rank 0 more than once: nccl-tests without MPI, each process for itself");
}

void LogReader::device(std::string_view line, const std::vector<Word>& words) {
  if (words.size() < 3) return;
  if (words[2].text == "0") begin_run();
  run_.two_rank_zeros = run_.two_rank_zeros || (words[2].text == "0" && run_.ranks > 0);
  ++run_.ranks;
  const std::size_t bracket = line.rfind(']');
  if (bracket == std::string_view::npos || !imported_.device.empty()) return;
  const std::size_t from = line.find_first_not_of(' ', bracket + 1);
  if (from != std::string_view::npos) imported_.device = line.substr(from, line.find_last_not_of(" \r") + 1 - from);
  imported_.cuda = line.find("[host]") == std::string_view::npos;
}

void LogReader::columns(const std::vector<Word>& words) {
  Layout layout;
  layout.halves = run_.layout.halves;
  const auto is_time = [](const Word& word) { return word.text == "time" || word.text == "cputime"; };
  const auto first = std::ranges::find_if(words, is_time);
  const auto second = std::find_if(std::next(first), words.end(), is_time);
  layout.leading = static_cast<std::size_t>(first - words.begin()) - 1;  // '#'
  layout.cpu_time = first->text == "cputime";
  layout.half.clear();
  for (auto word = first; word != second; ++word) layout.half.push_back(word->text);
  if (second == words.end() && layout.halves.size() > 1) layout.halves.resize(1);
  if (second != words.end()) layout.second_at = second->at;
  run_.layout = layout;
  if (layout.cpu_time) note("times are of the host's enqueueing (-C), not of the collective: left out");
}

/// attune bench's own lines: "#  65536  float  sum  out-of-place  mesh blocks=1 threads=1 chunk=0 (by hand)".
void LogReader::plan(const std::vector<Word>& words) {
  const auto value = [](std::string_view word) {
    const auto equals = word.find('=');
    return equals == std::string_view::npos ? std::nullopt : integer(word.substr(equals + 1));
  };
  const auto bytes = integer(words[1].text);
  const auto dtype = dtype_of(words[2].text);
  const auto op = parse<Op>(words[3].text);
  const auto blocks = value(words[6].text);
  const auto threads = value(words[7].text);
  const auto chunk = value(words[8].text);
  if (!bytes || !dtype || !op || !blocks || !threads || !chunk) return;
  const Placement placement = words[4].text == "in-place" ? Placement::in_place : Placement::out_of_place;
  plans_[{runs_, *bytes, *dtype, *op, placement}] = {std::string(words[5].text), static_cast<int>(*blocks),
                                                     static_cast<int>(*threads), *chunk};
}

void LogReader::settings(std::string_view line, const std::vector<Word>& words) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (words[i].text == "graph:") run_.graph = words[i + 1].text != "0";
  if (line.find("median of single calls") != std::string_view::npos) run_.mode = Mode::latency;
  if (line.find("cache rewritten") != std::string_view::npos) run_.cache = CacheState::rewritten;
  if (line.find("cache hot") != std::string_view::npos) run_.cache = CacheState::hot;
  if (line.find("memory: registered") != std::string_view::npos) run_.memory = Memory::registered;
}

void LogReader::comment(std::string_view line, const std::vector<Word>& words) {
  const auto says = [line](std::string_view text) { return line.find(text) != std::string_view::npos; };
  if (says("nccl-tests version") || says("attune version")) {
    begin_run();
    const auto version = std::ranges::find(words, "version", &Word::text);
    if (std::next(version) != words.end() && imported_.tool.empty())
      imported_.tool =
          (says("attune version") ? "attune bench " : "nccl-tests ") + std::string(std::next(version)->text);
  } else if (says("Collective test starting:")) {
    begin_run();
    run_.collective = words.back().text;
  } else if (says("nThread")) {
    begin_run();
    settings(line, words);
  } else if (says("# plans:")) {
    settings(line, words);
  } else if (words.size() > 1 && words[1].text == "Rank") {
    device(line, words);
  } else if (words.size() > 8 && (words[4].text == "out-of-place" || words[4].text == "in-place") && says("blocks=")) {
    plan(words);
  } else if (says("size") && says("count") && says("time")) {
    columns(words);
  } else if (says("out-of-place") && says("in-place") && words.size() == 3) {
    run_.layout.halves = {Placement::out_of_place, Placement::in_place};
  } else if (words.size() == 2 && (words[1].text == "in-place" || words[1].text == "out-of-place")) {
    run_.layout.halves = {words[1].text == "in-place" ? Placement::in_place : Placement::out_of_place};
  } else if (says("Out of bounds values") || says("Avg bus bandwidth")) {
    run_.footer = true;
  }
}

std::optional<Problem> LogReader::problem_of(const std::vector<Word>& words) {
  Problem problem{.ranks = options_.ranks > 0 ? options_.ranks : run_.ranks, .memory = run_.memory};
  const auto bytes = integer(words[0].text);
  const auto count = integer(words[1].text);
  const auto dtype = dtype_of(words[2].text);
  const auto op = parse<Op>(words[3].text);
  if (!dtype || !op) {
    note("left out: " + std::string(!dtype ? words[2].text : words[3].text) + " is no dtype or op of attune's");
    return std::nullopt;
  }
  if (!bytes || !count || *bytes < 0 || *bytes > largest_message || *bytes % size_of(*dtype) != 0 ||
      *count != *bytes / size_of(*dtype)) {
    note("left out: size and count do not belong together");
    return std::nullopt;
  }
  without_ranks_ = without_ranks_ || problem.ranks == 0;
  problem.dtype = *dtype;
  problem.op = *op;
  problem.count = *count;
  problem.launch_mode = run_.graph ? LaunchMode::graph : LaunchMode::eager;
  return problem;
}

void LogReader::half(const Problem& problem, Placement placement, const std::vector<Word>& words, std::size_t from) {
  const auto column = [&](std::string_view name) {
    const auto found = std::ranges::find(run_.layout.half, name);
    return found == run_.layout.half.end()
               ? std::string_view()
               : words[from + static_cast<std::size_t>(found - run_.layout.half.begin())].text;
  };
  const std::string name = placement == Placement::in_place ? "in-place" : "out-of-place";
  const auto time_us = number(column("time"));
  if (!time_us || *time_us <= 0) return note(name + " has no time: left out");
  const auto algbw = number(column("algbw"));
  const double expected = static_cast<double>(problem.bytes()) / *time_us / 1e3;
  if (algbw && std::abs(*algbw - expected) > 0.05 * expected + 0.02)
    return note(name + ": time and algbw contradict each other: left out");
  Record record = record_of(problem, "vendor", *time_us);
  record.problem.placement = placement;
  record.launch = options_.launch + (runs_ > 1 ? "#" + std::to_string(runs_) : "");
  record.mode = run_.mode;
  record.cache = run_.cache;
  const std::string_view wrong = column("#wrong").empty() ? column("error") : column("#wrong");
  if (const auto count = number(wrong); count && *count > 0) {
    record.status = CellStatus::wrong;
    record.reason = "imported: " + std::string(wrong) + " wrong elements";
  } else if (!count) {
    ++unchecked_;
    record.reason = std::string(single_number) + ", results not checked";
  }
  imported_.records.push_back(std::move(record));
  run_of_record_.push_back(runs_);
}

void LogReader::row(std::vector<Word> words, bool whole) {
  ++run_.rows;
  if (!run_.allreduce() || run_.layout.cpu_time) return;
  const Layout& layout = run_.layout;
  if (!whole) words.pop_back();  // the last word may have lost its end
  const std::size_t width = layout.half.size();
  const std::size_t had = words.size();
  if (layout.leading != 5 || had < layout.leading + width)
    return note("cut, or not of the columns that its header names: left out");
  const auto problem = problem_of(words);
  if (!problem) return;
  const bool only_second = layout.halves.size() == 2 && had == layout.leading + width && layout.second_at > 0 &&
                           words[layout.leading].at + 8 >= layout.second_at;
  if (only_second) {
    note("no out-of-place half");
    return half(*problem, layout.halves[1], words, layout.leading);
  }
  for (std::size_t i = 0; i < layout.halves.size(); ++i) {
    const std::size_t from = layout.leading + i * width;
    if (had < from + width)
      note(std::string(had == from && whole ? "no " : "cut: no whole ") +
           (layout.halves[i] == Placement::in_place ? "in-place half" : "out-of-place half"));
    else
      half(*problem, layout.halves[i], words, from);
  }
}

void LogReader::line(std::string_view line, bool whole) {
  if (line.starts_with('[')) {  // mpirun --tag-output: "[1,0]<stdout>:"
    const std::size_t tag = line.find(">:");
    if (tag != std::string_view::npos && tag < 40) line.remove_prefix(tag + 2);
  }
  const auto words = words_of(line);
  if (words.empty()) return;
  if (words[0].text.starts_with('#')) return comment(line, words);
  if (integer(words[0].text) && (words.size() == 1 || integer(words[1].text))) return row(words, whole);
  if (strange_++ == 0) first_strange_ = number_;
}

Imported LogReader::read(const std::string& source) {
  for (std::size_t from = 0; from < text_.size();) {
    const std::size_t feed = text_.find('\n', from);
    ++number_;
    line(text_.substr(from, feed == std::string_view::npos ? feed : feed - from), feed != std::string_view::npos);
    from = feed == std::string_view::npos ? text_.size() : feed + 1;
  }
  end_run();
  for (std::size_t i = 0; i < imported_.records.size(); ++i) {
    Record& record = imported_.records[i];
    const Problem& p = record.problem;
    const auto found = plans_.find({run_of_record_[i], p.bytes(), p.dtype, p.op, p.placement});
    if (found != plans_.end()) record.plan = found->second;
  }
  if (strange_ > 0)
    imported_.notes.push_back(at_line(first_strange_, "no part of a table: skipped") +
                              (strange_ > 1 ? ", and " + std::to_string(strange_ - 1) + " more like it" : ""));
  if (unchecked_ > 0)
    imported_.notes.push_back(std::to_string(unchecked_) + " results were not checked (#wrong is N/A)");
  if (runs_ > 1) imported_.notes.push_back(std::to_string(runs_) + " runs in one file, kept apart as launches");
  if (imported_.records.empty() && imported_.notes.empty())
    throw Error(Status::usage, source + ": no row of nccl-tests' table, and no log of OSU",
                "name a log of nccl-tests or OSU, or MSCCL++'s tuning file");
  if (imported_.records.empty())
    throw Error(Status::usage, source + ": no usable row: " + imported_.notes.front(), "see the log");
  if (without_ranks_) no_ranks(source);
  return std::move(imported_);
}

}  // namespace

Imported read_nccl_text(std::string_view text, const std::string& source, const ImportOptions& options) {
  Imported imported = LogReader(text, options).read(source);
  if (imported.tool.empty()) imported.tool = "nccl-tests";
  number_blocks(imported.records);
  return imported;
}

}  // namespace attune::tuner::imports
