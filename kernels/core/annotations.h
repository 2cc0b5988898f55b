#pragma once
/// How functions of the vocabulary are compiled on each device. On host they are always inlined, because a
/// translation unit exists for every instruction set and no out-of-line copy of a shared function may carry
/// instructions that another machine lacks.
#ifdef __CUDACC__
#define ATTUNE_DEVICE __device__ __forceinline__
#define ATTUNE_BOTH __host__ __device__ __forceinline__
#else
#define ATTUNE_DEVICE [[gnu::always_inline]] inline
#define ATTUNE_BOTH [[gnu::always_inline]] inline
#endif
