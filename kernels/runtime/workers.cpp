#include "runtime/workers.h"

#include "core/annotations.h"

namespace attune::host {

namespace {
/// Polls `spins` times, then sleeps until `value` differs from `old`.
void wait_for_change(const std::atomic<unsigned>& value, unsigned old, int spins) {
  for (int spin = 0; spin < spins; ++spin)
    if (value.load(std::memory_order_acquire) != old) return;
  value.wait(old, std::memory_order_acquire);
}
}  // namespace

Workers::~Workers() {
  stop_.store(true, std::memory_order_relaxed);
  for (auto& worker : workers_) {
    worker->ticket.fetch_add(1, std::memory_order_release);
    worker->ticket.notify_one();
  }
  for (auto& worker : workers_) worker->thread.join();
}

void Workers::run(int blocks, const std::function<void(int)>& work) {
  const auto helpers = static_cast<std::size_t>(blocks - 1);
  while (workers_.size() < helpers) {
    workers_.reserve(helpers);  // a worker joins the list only with a thread that can be joined
    auto made = std::make_unique<Worker>();
    auto& worker = *made;
    const int block = static_cast<int>(workers_.size()) + 1;
    worker.thread = std::thread([this, &worker, block] { serve(worker, block); });
    workers_.push_back(std::move(made));
  }
  work_ = &work;
  for (std::size_t h = 0; h < helpers; ++h) {
    workers_[h]->ticket.fetch_add(1, std::memory_order_release);
    workers_[h]->ticket.notify_one();
  }
  std::exception_ptr error;
  try {
    work(0);
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t h = 0; h < helpers; ++h) {
    auto& worker = *workers_[h];
    const unsigned ticket = worker.ticket.load(std::memory_order_relaxed);
    for (unsigned done = worker.done.load(std::memory_order_acquire); done != ticket;
         done = worker.done.load(std::memory_order_acquire))
      wait_for_change(worker.done, done, spins_);
    if (worker.error && !error) error = worker.error;
    worker.error = nullptr;
  }
  if (error) std::rethrow_exception(error);
}

void Workers::serve(Worker& worker, int block) {
  for (unsigned served = 0;; ++served) {
    wait_for_change(worker.ticket, served, spins_);
    if (stop_.load(std::memory_order_relaxed)) return;
    try {
      (*work_)(block);
    } catch (...) {
      worker.error = std::current_exception();
    }
    worker.done.store(served + 1, std::memory_order_release);
    worker.done.notify_one();
  }
}

}  // namespace attune::host
