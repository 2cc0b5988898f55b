#pragma once
/// Persistent worker threads of a rank: the blocks of a launch but the first, which is the caller.
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace attune::host {

class Workers {
 public:
  /// `spins`: polls of an idle worker before it parks; 0 parks at once.
  explicit Workers(int spins) : spins_(spins) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs work(0) here and work(1) … work(blocks-1) on workers at the same time; starts threads as needed. Returns
  /// when all are done; the first exception of any block is thrown.
  void run(int blocks, const std::function<void(int)>& work);

 private:
  struct Worker {
    std::atomic<unsigned> ticket{0};  ///< Work handed out; the worker sleeps on it.
    std::atomic<unsigned> done{0};
    std::exception_ptr error;
    std::thread thread;
  };
  void serve(Worker& worker, int block);

  int spins_;
  std::atomic<bool> stop_{false};
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace attune::host
