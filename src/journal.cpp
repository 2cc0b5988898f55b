#include "src/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/measure_meeting.h"

namespace attune::driver {

namespace {
namespace fs = std::filesystem;
constexpr double sync_every_s = 2;
constexpr std::size_t note_bytes = 1024;

[[noreturn]] void refuse_file(const std::string& path, const std::string& what, int code) {
  const std::string text = fmt::format("{}: {}: {}", path, what, std::strerror(code));
  if (code == EIO) throw Error(Status::internal, text, "the disk fails: look into it, then continue with --resume");
  const bool full = code == ENOSPC || code == EDQUOT;
  throw Error(Status::usage, text,
              full ? "make room, then continue with --resume" : "name a folder that can be written");
}

/// A full or failing disk may tell only now what it did not write.
void sync_file(int file, const std::string& path) {
  if (::fsync(file) != 0 && errno != EINVAL) refuse_file(path, "cannot force to the disk", errno);  // EINVAL: no disk
}

void write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse_file(path, "cannot write", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string cell_line(const CellName& cell) {
  return Json{{"problem", to_json(cell.problem)}, {"plan", to_json(cell.plan)}}.dump();
}

std::optional<CellName> parse_cell(const std::string& line) {
  try {
    const Json json = parse_json(line, "note");
    return CellName{problem_from_json(json.at("problem"), ""), plan_from_json(json.at("plan"), "")};
  } catch (const std::exception&) {
    return std::nullopt;  // half-written: nobody is blamed
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}
}  // namespace

void write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  const int file = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) refuse_file(temporary, "cannot create", errno);
  try {
    write_all(file, temporary, text);
    sync_file(file, temporary);
  } catch (...) {
    ::close(file);
    ::unlink(temporary.c_str());
    throw;
  }
  ::close(file);
  if (::rename(temporary.c_str(), path.c_str()) != 0) refuse_file(path, "cannot rename", errno);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Status::usage, path + ": cannot be read: " + std::strerror(errno), "check the path");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) refuse_file(path, "cannot open", errno);
  try {
    write_all(file, path, line + "\n");
    sync_file(file, path);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
}

std::vector<std::string> whole_lines(const std::string& path) {
  if (!fs::exists(path)) return {};
  const std::string text = read_file(path);
  const std::string whole = text.substr(0, text.rfind('\n') + 1);  // npos + 1 == 0
  if (whole.size() != text.size()) write_file(path, whole);
  return lines_of(path);
}

JournalWriter::JournalWriter(const std::string& path, std::int64_t keep_bytes) : path_(path), synced_s_(now_s()) {
  file_ = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) refuse_file(path, "cannot open", errno);
  if (::ftruncate(file_, keep_bytes) != 0) refuse_file(path, "cannot truncate", errno);
}

JournalWriter::~JournalWriter() {
  ::fsync(file_);  // for a sweep that ends with an error; one that ends well has called sync
  ::close(file_);
}

void JournalWriter::append(const tuner::Record& record) {
  write_all(file_, path_, tuner::to_line(record));
  if (now_s() - synced_s_ > sync_every_s) sync();
}

void JournalWriter::sync() {
  sync_file(file_, path_);
  synced_s_ = now_s();
}

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  const auto close_it = [](const int* folder) {
    ::close(*folder);
    delete folder;
  };
  const int folder = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // who writes a file into it says why not
  lock_ = {new int(folder), close_it};
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)  // file systems without locks: trust the user
    throw Error(Status::usage, path_ + ": another sweep is writing into it",
                "wait for its end (an array of jobs: one at a time), or name another folder and tune both");
}

bool RunFolder::holds_run(const std::string& path) { return fs::exists(fs::path(path) / "manifest.json"); }

RunFolder RunFolder::create(const std::string& path) {
  std::error_code fault;
  fs::create_directories(path, fault);
  if (fault) refuse_file(path, "cannot make the run folder", fault.value());
  for (const char* name : {"manifest.json", "journal.jsonl"})
    if (fs::exists(fs::path(path) / name))
      throw Error(Status::usage, path + " already holds a run",
                  "continue it with --resume, add a launch with --append, or name another folder");
  return RunFolder(path);  // the manifest is its first file: without one there is nothing to resume
}

RunFolder RunFolder::reopen(const std::string& path) {
  RunFolder folder(path);
  if (!holds_run(path))
    throw Error(Status::usage, path + ": there is no run to resume", "leave --resume out to start one");
  if (::access(path.c_str(), W_OK) != 0) refuse_file(path, "cannot write into the run folder", errno);
  if (fs::exists(folder.file("journal.jsonl"))) folder.earlier_ = tuner::load_journal(folder.file("journal.jsonl"));
  return folder;
}

void RunFolder::note_running(const CellName& cell) const {
  std::string line = cell_line(cell);
  line.resize(std::max(note_bytes, line.size() + 1), ' ');  // always the same length: it is overwritten in place
  line.back() = '\n';
  const int file = ::open(this->file("running.json").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::pwrite(file, line.data(), line.size(), 0);
  ::close(file);
}

void RunFolder::note_finished() const {
  for (const char* name : {"running.json", "interrupted.jsonl", "crashed"}) ::unlink(file(name).c_str());
}

void RunFolder::forget_blame() const {
  for (const char* name : {"running.json", "crashed"}) ::unlink(file(name).c_str());
}

std::vector<tuner::Record> RunFolder::blamed() const {
  const auto running = lines_of(file("running.json"));
  if (running.empty()) return {};
  const auto cell = parse_cell(running.front());
  const auto crashes = lines_of(file("crashed"));
  if (!cell) return {};
  bool before = false;
  for (const auto& line : lines_of(file("interrupted.jsonl"))) before = before || line == cell_line(*cell);
  if (crashes.empty() && !before) {
    forget_blame();  // first: a kill in between forgives once more instead of counting this run twice
    append_line(file("interrupted.jsonl"), cell_line(*cell));
    return {};
  }
  tuner::Record record;
  record.problem = cell->problem;
  record.plan = cell->plan;
  record.launch = "resume";
  record.converged = false;
  record.reason = crashes.empty() ? "the run ended twice while this cell was running" : crashes.front();
  const bool late =
      record.reason.find("waited") != std::string::npos || record.reason.find("timeout") != std::string::npos;
  record.status = late ? tuner::CellStatus::timed_out : tuner::CellStatus::failed;
  return {record};
}

namespace {
/// For the signal handler, which may neither allocate nor format.
struct CrashNote {
  std::array<char, 512> path{};
  std::array<char, 64> text{};
  std::array<struct sigaction, 65> old{};
};
CrashNote crash_note;

void on_crash(int signal) {
  const int file = ::open(crash_note.path.data(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0) {
    auto& text = crash_note.text;
    const std::size_t length = std::strlen(text.data());
    std::array<char, 4> digits{static_cast<char>('0' + signal / 10), static_cast<char>('0' + signal % 10), '\n', 0};
    [[maybe_unused]] auto written = ::write(file, text.data(), length);
    written = ::write(file, digits.data(), 3);
    ::close(file);
  }
  ::sigaction(signal, &crash_note.old[static_cast<std::size_t>(signal)], nullptr);
  ::raise(signal);
}
}  // namespace

void note_crashes_in(const std::string& folder, int rank) {
  const std::string path = folder + "/crashed";
  if (path.size() >= crash_note.path.size()) return;
  path.copy(crash_note.path.data(), path.size());
  const std::string text = fmt::format("rank {} crashed with signal ", rank);
  text.copy(crash_note.text.data(), text.size());
  struct sigaction action {};
  action.sa_handler = on_crash;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::sigaction(signal, &action, &crash_note.old[static_cast<std::size_t>(signal)]);
}

void note_fatal(const std::string& folder, int rank, const std::string& text) noexcept {
  const int file = ::open((folder + "/crashed").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  std::string line = fmt::format("rank {}: {}", rank, text);
  for (char& letter : line)
    if (letter == '\n') letter = ' ';
  line += '\n';
  [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
  ::close(file);
}

}  // namespace attune::driver
