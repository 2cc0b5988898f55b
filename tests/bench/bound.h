#pragma once
/// The least that an allreduce of two ranks can do on this machine, written by hand: float sums, whole cache lines,
/// known addresses, no checks, no error handling, nothing chosen at run time. What a plan loses against the best of
/// these is its own; what these lose against a target is the machine's.
#include <immintrin.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "attune/attune.hpp"

namespace attune::bench {

class Bound {
 public:
  using Bytes = attune::Bytes;

  /// Collective over two ranks; `most` bytes a message at most.
  Bound(MPI_Comm comm, Bytes most) : comm_(comm), most_((most + 4095) / 4096 * 4096) {
    MPI_Comm_rank(comm, &rank_);
    void* base = nullptr;
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(sizeof(Shared) + 3 * most_ + 4096), 1, MPI_INFO_NULL, comm, &base,
                            &window_);
    for (int r = 0; r < 2; ++r) {
      MPI_Aint size = 0;
      int unit = 0;
      MPI_Win_shared_query(window_, r, &size, &unit, &base);
      const auto at = (reinterpret_cast<std::uintptr_t>(base) + 4095) / 4096 * 4096;
      shared_[r] = reinterpret_cast<Shared*>(at);
      in_[r] = reinterpret_cast<std::byte*>(at + sizeof(Shared));
      out_[r] = in_[r] + most_;
      scratch_[r] = out_[r] + most_;
    }
    std::memset(static_cast<void*>(shared_[rank_]), 0, sizeof(Shared) + 3 * static_cast<std::size_t>(most_));
    MPI_Barrier(comm);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  ~Bound() { MPI_Win_free(&window_); }

  [[nodiscard]] std::byte* input() const { return in_[rank_]; }

  /// The exchange of that name, or nothing where it does not take so many bytes. Collective: it has been run once, and
  /// has given the sums, or the program ends.
  [[nodiscard]] std::function<void()> named(const std::string& name, Bytes bytes) {
    auto call = find(name, bytes);
    if (call) prove(name, bytes, call);
    return call;
  }

 private:
  [[nodiscard]] std::function<void()> find(const std::string& name, Bytes bytes) {
    if (name == "bound_push" && bytes <= inbox_bytes) return [this, bytes] { push(bytes); };
    if (name == "bound_one_shot" && bytes <= 64 * 1024) return [this, bytes] { one_shot(bytes); };
    if (name == "bound_two_shot" && bytes % 64 == 0) return [this, bytes] { two_shot<false>(bytes); };
    if (name == "bound_two_shot_nt" && bytes >= 1 << 20) return [this, bytes] { two_shot<true>(bytes); };
    if (name == "bound_staged" && bytes % 64 == 0 && bytes <= 2 << 20) return [this, bytes] { staged(bytes); };
    return {};
  }

  void prove(const std::string& name, Bytes bytes, const std::function<void()>& call) {
    const auto value = [](int rank, Bytes i) { return static_cast<float>((i * (rank + 3) + rank) % 1021); };
    for (Bytes i = 0; i < bytes / 4; ++i) floats(in_[rank_])[i] = value(rank_, i);
    std::memset(out_[rank_], 0, static_cast<std::size_t>(bytes));
    MPI_Barrier(comm_);
    call();
    MPI_Barrier(comm_);
    for (Bytes i = 0; i < bytes / 4; ++i) {
      if (floats(out_[rank_])[i] == value(0, i) + value(1, i)) continue;
      std::fprintf(stderr, "%s is wrong: %lld bytes, element %lld\n", name.c_str(), static_cast<long long>(bytes),
                   static_cast<long long>(i));
      MPI_Abort(comm_, 7);
    }
  }

  static constexpr Bytes inbox_bytes = 2048;
  /// 60 bytes of message and the number of the call: whoever sees the number sees the bytes.
  struct alignas(64) Line {
    std::array<float, 15> payload;
    std::atomic<std::uint32_t> call;
  };
  struct alignas(4096) Shared {
    alignas(128) std::atomic<std::uint32_t> flag;
    alignas(128) std::array<std::array<Line, inbox_bytes / 60 + 1>, 2> inbox;  ///< Two generations.
  };

  static void await(const std::atomic<std::uint32_t>& flag, std::uint32_t value) {
    while (flag.load(std::memory_order_acquire) < value) _mm_pause();
  }
  void meet() {
    shared_[rank_]->flag.store(++epoch_, std::memory_order_release);
    await(shared_[1 - rank_]->flag, epoch_);
  }
  static const float* floats(const std::byte* at) { return reinterpret_cast<const float*>(at); }
  static float* floats(std::byte* at) { return reinterpret_cast<float*>(at); }

  void push(Bytes bytes) {
    ++call_;
    auto& theirs = shared_[1 - rank_]->inbox[call_ % 2];
    auto& mine = shared_[rank_]->inbox[call_ % 2];
    const float* in = floats(in_[rank_]);
    float* out = floats(out_[rank_]);
    const auto count = static_cast<std::size_t>(bytes / 4);
    for (std::size_t i = 0, line = 0; i < count; i += 15, ++line) {
      std::memcpy(theirs[line].payload.data(), in + i, std::min<std::size_t>(15, count - i) * 4);
      theirs[line].call.store(call_, std::memory_order_release);
    }
    for (std::size_t i = 0, line = 0; i < count; i += 15, ++line) {
      await(mine[line].call, call_);
      const auto end = std::min<std::size_t>(15, count - i);
      for (std::size_t k = 0; k < end; ++k) out[i + k] = in[i + k] + mine[line].payload[k];
    }
  }

  [[gnu::target("avx2")]] void one_shot(Bytes bytes) {
    meet();
    const float *a = floats(in_[0]), *b = floats(in_[1]);
    float* out = floats(out_[rank_]);
    Bytes i = 0;
    for (; i + 8 <= bytes / 4; i += 8)
      _mm256_store_ps(out + i, _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
    for (; i < bytes / 4; ++i) out[i] = a[i] + b[i];
    meet();
  }

  template <bool Streams>
  [[gnu::target("avx2")]] static void store(float* at, __m256 value) {
    if constexpr (Streams) {
      _mm256_stream_ps(at, value);
    } else {
      _mm256_store_ps(at, value);
    }
  }

  template <bool Streams>
  [[gnu::target("avx2")]] void two_shot(Bytes bytes) {
    meet();
    const Bytes half = bytes / 64 / 2 * 16, end = rank_ == 0 ? half : bytes / 4;
    for (Bytes i = rank_ == 0 ? 0 : half; i < end; i += 8) {
      const __m256 sum = _mm256_add_ps(_mm256_load_ps(floats(in_[0]) + i), _mm256_load_ps(floats(in_[1]) + i));
      store<Streams>(floats(out_[0]) + i, sum);
      store<Streams>(floats(out_[1]) + i, sum);
    }
    if constexpr (Streams) _mm_sfence();
    meet();
  }

  /// Inputs and outputs are private here: the peer's part goes through scratch, one's own does not.
  [[gnu::target("avx2")]] void staged(Bytes bytes) {
    const Bytes half = bytes / 64 / 2 * 64;
    const Bytes mine = rank_ == 0 ? 0 : half, my_bytes = rank_ == 0 ? half : bytes - half;
    const Bytes theirs = rank_ == 0 ? half : 0, their_bytes = bytes - my_bytes;
    std::memcpy(scratch_[rank_] + theirs, in_[rank_] + theirs, static_cast<std::size_t>(their_bytes));
    meet();
    const float *a = floats(in_[rank_] + mine), *b = floats(scratch_[1 - rank_] + mine);
    float *out = floats(out_[rank_] + mine), *shared = floats(scratch_[rank_] + mine);
    for (Bytes i = 0; i < my_bytes / 4; i += 8) {
      const __m256 sum = _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i));
      _mm256_store_ps(out + i, sum);
      _mm256_store_ps(shared + i, sum);
    }
    meet();
    std::memcpy(out_[rank_] + theirs, scratch_[1 - rank_] + theirs, static_cast<std::size_t>(their_bytes));
  }

  MPI_Comm comm_;
  Bytes most_;
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0;
  std::uint32_t epoch_ = 0, call_ = 0;
  std::array<Shared*, 2> shared_{};
  std::array<std::byte*, 2> in_{}, out_{}, scratch_{};
};

}  // namespace attune::bench
