#pragma once
/// ATTUNE_UNROLL stands before a loop whose bounds are constants, and that must leave no loop behind: arrays that it
/// indexes live in registers. ATTUNE_NO_UNROLL stands before one that must stay a loop.
#ifdef __CUDACC__
#define ATTUNE_UNROLL _Pragma("unroll")
#define ATTUNE_NO_UNROLL _Pragma("unroll 1")
#else
#define ATTUNE_UNROLL _Pragma("GCC unroll 16")
#define ATTUNE_NO_UNROLL _Pragma("GCC unroll 1")
#endif
