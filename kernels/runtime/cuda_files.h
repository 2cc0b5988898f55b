#pragma once
/// Open files handed from process to process: how memory of the driver's virtual-memory interface is shared.
#include <vector>

#include "runtime/bootstrap.h"

namespace attune::cuda {

/// A file descriptor that closes itself.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  File& operator=(File&& other) noexcept;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Every rank's file on every rank, in rank order; an absent one (and one's own) stays empty. Ranks are processes of
/// one node and network namespace. Collective. Throws Error(device) on all ranks when one does not get them all.
[[nodiscard]] std::vector<File> exchange_files(Bootstrap& bootstrap, const File& mine);

}  // namespace attune::cuda
