/* sum BYTES...: one MPI_Allreduce of floats for each size, 12 times. Rank 0 prints a line for each: size, the return
 * code's class and a checksum of the result's bits, which differs between orders of summation. Compiled for whichever
 * MPI a test wants to tell something to. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t checksum(const float* values, int count) {
  uint32_t sum = 2166136261u;
  for (int i = 0; i < count; ++i) {
    uint32_t word;
    memcpy(&word, &values[i], sizeof word);
    sum = (sum ^ word) * 16777619u;
  }
  return sum;
}

static void reduce(long bytes, int rank) {
  const int count = (int)(bytes / (long)sizeof(float));
  float* in = malloc((size_t)bytes + 1);
  float* out = malloc((size_t)bytes + 1);
  int code = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) in[i] = (rank % 2 == 0 ? 1.0e7f : 0.3f) + 0.1f * (float)((i + 3 * rank) % 7);
  memset(out, 0, (size_t)bytes);
  for (int call = 0; call < 12 && code == MPI_SUCCESS; ++call)
    code = MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  const char* word = class == MPI_SUCCESS ? "ok" : class == MPI_ERR_ARG ? "argument" : "error";
  if (rank == 0) printf("%ld %s %08x\n", bytes, word, checksum(out, count));
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 1; i < argc; ++i) reduce(atol(argv[i]), rank);
  MPI_Finalize();
  return 0;
}
