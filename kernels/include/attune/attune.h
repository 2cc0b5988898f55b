#ifndef ATTUNE_ATTUNE_H
#define ATTUNE_ATTUNE_H
/**
 * attune's C interface (C11): the C++ one of attune.hpp without templates and exceptions.
 *
 *   attune_comm* comm;
 *   if (attune_comm_create(MPI_COMM_WORLD, NULL, &comm) != ATTUNE_SUCCESS) fail(attune_error_text(comm));
 *   attune_allreduce(comm, in, out, count, ATTUNE_F32, ATTUNE_SUM);
 *   attune_comm_free(comm);
 *
 * Every function marked Collective is called by all ranks of the communicator, in the same order and with the same
 * arguments except for pointers. Every function that returns attune_status leaves the reason of a failure, in one
 * line, in attune_error_text. One call at a time on a communicator.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a call ended with; the program's exit codes are the same numbers. */
typedef enum attune_status {
  ATTUNE_SUCCESS = 0,
  ATTUNE_ERROR_INTERNAL = 1,    /**< A fault of attune, or a communicator that has failed before. */
  ATTUNE_ERROR_DEVICE = 2,      /**< Shared memory or a device cannot be had. */
  ATTUNE_ERROR_VENDOR = 3,      /**< The vendor's library (MPI) reported an error. */
  ATTUNE_ERROR_TIMEOUT = 4,     /**< A peer did not come in time (ATTUNE_TIMEOUT_S). */
  ATTUNE_ERROR_UNSUPPORTED = 5, /**< Not possible here: several nodes, more than 8 ranks. */
  ATTUNE_ERROR_USAGE = 6,       /**< Misuse, or a bad table. */
  ATTUNE_ERROR_WRONG = 7        /**< Wrong results; no function here returns it. */
} attune_status;

/** Element types, in the order of the tables' words. */
typedef enum attune_dtype {
  ATTUNE_F64,
  ATTUNE_F32,
  ATTUNE_F16,
  ATTUNE_BF16,
  ATTUNE_F8E4M3,
  ATTUNE_F8E5M2,
  ATTUNE_I8,
  ATTUNE_U8,
  ATTUNE_I32,
  ATTUNE_U32,
  ATTUNE_I64,
  ATTUNE_U64
} attune_dtype;

typedef enum attune_op { ATTUNE_SUM, ATTUNE_AVG, ATTUNE_PROD, ATTUNE_MIN, ATTUNE_MAX } attune_op;

/** The loosest rounding that a table may use. */
typedef enum attune_numerics { ATTUNE_RANK_ORDER, ATTUNE_PER_HOP, ATTUNE_IN_SWITCH } attune_numerics;

/** Where the ranks' data lies. */
typedef enum attune_device { ATTUNE_HOST, ATTUNE_CUDA } attune_device;

/** Start from ATTUNE_OPTIONS_DEFAULT. */
typedef struct attune_options {
  const char* table;        /**< Path of a dispatch table; "none" = built-in; NULL = ATTUNE_TABLE, then the folders. */
  int strict;               /**< Non-zero: a table of other hardware is an error. */
  attune_numerics numerics; /**< Which numerics classes may compete. */
  double timeout_s;         /**< Limit of every wait; 0 = none; negative = ATTUNE_TIMEOUT_S, default 30. */
  int64_t scratch_bytes;    /**< Shared scratch per rank and region; 0 = the default (16 MiB). */
  attune_device device;     /**< ATTUNE_CUDA: a GPU per rank, buffers in device memory. */
  int gpu;                  /**< cuda: this device; -1 = the one of the rank's number on its node. */
} attune_options;

#define ATTUNE_OPTIONS_DEFAULT \
  { NULL, 0, ATTUNE_RANK_ORDER, -1.0, 0, ATTUNE_HOST, -1 }

/** A plan by hand: what a table would say. */
typedef struct attune_plan {
  const char* variant; /**< A name that `attune cost` lists. */
  int blocks;          /**< Threads of each rank, the caller included (cuda: thread blocks); at least 1. */
  int64_t chunk_bytes; /**< Pipelining grain of chunked variants; 0 = the variant's own choice. */
  int threads;         /**< cuda: threads of a block, a multiple of 32; 0 = 512. Not used on host. */
} attune_plan;

/** A team of ranks on one node and everything that a call needs. */
typedef struct attune_comm attune_comm;

/**
 * Collective. `options` may be NULL. On failure `*comm` still is a handle, of which only attune_error_text and
 * attune_comm_free can be used; it is NULL only when there was no memory for it.
 */
attune_status attune_comm_create(MPI_Comm mpi_comm, const attune_options* options, attune_comm** comm);
/** Collective, unless creation failed. NULL does nothing. Memory from attune_allocate goes with it. */
void attune_comm_free(attune_comm* comm);

/** The reason of this communicator's last failure in one line: what, where, what to do. "" if none has failed. */
const char* attune_error_text(const attune_comm* comm);

int attune_rank(const attune_comm* comm);
int attune_size(const attune_comm* comm);
/** The file that answers look-ups; "" = the built-in default. */
const char* attune_table_path(const attune_comm* comm);

/** `bytes` of zeroed memory, 4096-byte aligned, that peers can address: no staging copy. Collective. */
attune_status attune_allocate(attune_comm* comm, size_t bytes, void** memory);
/** Collective, with the pointer that this rank got from the same attune_allocate. */
attune_status attune_release(attune_comm* comm, void* memory);

/**
 * out = op over all ranks' in, element by element, on every rank; the table picks the plan. `in == out` is allowed.
 * Blocking: on return the result is complete and the input may be overwritten. Whether both buffers come from
 * attune_allocate, and whether `in == out`, must be the same on all ranks. Collective.
 */
attune_status attune_allreduce(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                               attune_op op);
/** The same with a plan by hand. Collective. */
attune_status attune_allreduce_with(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                                    attune_op op, const attune_plan* plan);

/**
 * cuda: the same, enqueued on `stream` (a cudaStream_t); returns before it is done and may be captured in a graph.
 * `plan` may be NULL: the table then picks. A NULL stream, and the host, block. Collective.
 */
attune_status attune_allreduce_on(attune_comm* comm, const void* in, void* out, int64_t count, attune_dtype dtype,
                                  attune_op op, const attune_plan* plan, void* stream);
/** cuda: waits for the calls on a stream (NULL: the communicator's own) and returns what went wrong in them. */
attune_status attune_synchronize(attune_comm* comm, void* stream);
/** cuda: between the capture of calls and the first launch of their graph. Collective. See attune.hpp. */
attune_status attune_complete_capture(attune_comm* comm);

/** Bytes of one element; 0 for no dtype. */
size_t attune_dtype_size(attune_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
