#pragma once
/// The run folder as a sweep writes it: an append-only journal, and notes from which --resume learns what was running
/// when a run died.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dispatch/json.h"
#include "tuner/record.h"

namespace attune::driver {

/// Writes the whole text to a temporary name in the same folder and renames it. Throws Error(usage), or Error(internal)
/// when the disk fails.
void write_file(const std::string& path, const std::string& text);
/// Throws Error(usage) when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);
/// Adds a line to a file, which is made if it is missing, and forces it to the disk. Throws Error(usage), or
/// Error(internal) when the disk fails.
void append_line(const std::string& path, const std::string& line);
/// The lines that were written whole; what a killed run left behind the last line feed is cut off the file, so that
/// lines can be added. None when there is no file.
[[nodiscard]] std::vector<std::string> whole_lines(const std::string& path);

class JournalWriter {
 public:
  /// Opens for appending; what stands behind `keep_bytes` (a line that a killed run left half-written) is cut off.
  JournalWriter(const std::string& path, std::int64_t keep_bytes);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// One whole line in one write; forced to the disk every few seconds. Both throw Error(usage) when the disk is full
  /// and Error(internal) when it fails.
  void append(const tuner::Record& record);
  void sync();

 private:
  std::string path_;
  int file_ = -1;
  double synced_s_ = 0;
};

struct CellName {
  Problem problem;
  Plan plan;
  auto operator<=>(const CellName&) const = default;
};

class RunFolder {
 public:
  /// A new folder; made if it is missing. Throws Error(usage) if it holds a run or cannot be written. Both keep other
  /// sweeps out while they live: Error(usage) where one is writing.
  [[nodiscard]] static RunFolder create(const std::string& path);
  /// A folder that a sweep wrote. Throws Error(usage) if it is none.
  [[nodiscard]] static RunFolder reopen(const std::string& path);
  [[nodiscard]] static bool holds_run(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const tuner::Journal& earlier() const { return earlier_; }

  /// The cell that is about to run, for whoever finds this folder after a crash. Cheap.
  void note_running(const CellName& cell) const;
  /// The sweep ended by its own will.
  void note_finished() const;
  /// reopen: the cells that ended the run that died, and why; to be recorded and skipped. A cell is named at once when
  /// its crash or timeout was noted, and otherwise (a kill from outside looks the same) when it was running at the end
  /// of two runs. The notes stay until forget_blame, which is for after the records are on the disk.
  [[nodiscard]] std::vector<tuner::Record> blamed() const;
  void forget_blame() const;

 private:
  explicit RunFolder(std::string path);
  std::string path_;
  std::shared_ptr<const int> lock_;  ///< The folder, open and locked.
  tuner::Journal earlier_;
};

/// From now on a crash of this process (a fatal signal) leaves a line in `<folder>/crashed`.
void note_crashes_in(const std::string& folder, int rank);
/// The same for an error that ends the job.
void note_fatal(const std::string& folder, int rank, const std::string& text) noexcept;

}  // namespace attune::driver
