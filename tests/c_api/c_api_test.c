/* The C interface does what the C++ one does: sums right with the table's choice and with a plan by hand, in shared
 * and in private memory, and turns each kind of failure into its status and a text that says what to do. */
#include <attune/attune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, my_rank, #condition); \
      failures++;                                                                       \
    }                                                                                   \
  } while (0)

static int failures = 0;
static int my_rank = 0;
enum { count = 1001 };

static void fill(float* in, int call) {
  for (int i = 0; i < count; ++i) in[i] = (float)((my_rank + 1) * (i % 97) + call);
}
static int sum_is_right(const float* out, int ranks, int call) {
  for (int i = 0; i < count; ++i)
    if (out[i] != (float)(ranks * (ranks + 1) / 2 * (i % 97) + ranks * call)) return 0;
  return 1;
}

static void sums(attune_comm* comm) {
  const int ranks = attune_size(comm);
  void *in = NULL, *out = NULL;
  EXPECT(attune_allocate(comm, count * sizeof(float), &in) == ATTUNE_SUCCESS);
  EXPECT(attune_allocate(comm, count * sizeof(float), &out) == ATTUNE_SUCCESS);
  fill(in, 1);
  EXPECT(attune_allreduce(comm, in, out, count, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_SUCCESS);
  EXPECT(sum_is_right(out, ranks, 1));
  const attune_plan plan = {"two_shot", 2, 0, 0};
  fill(in, 2);
  EXPECT(attune_allreduce_with(comm, in, in, count, ATTUNE_F32, ATTUNE_SUM, &plan) == ATTUNE_SUCCESS);
  EXPECT(sum_is_right(in, ranks, 2));
  fill(in, 4);
  EXPECT(attune_allreduce_on(comm, in, out, count, ATTUNE_F32, ATTUNE_SUM, &plan, NULL) == ATTUNE_SUCCESS);
  EXPECT(attune_synchronize(comm, NULL) == ATTUNE_SUCCESS && sum_is_right(out, ranks, 4));
  EXPECT(attune_allreduce_on(comm, in, out, count, ATTUNE_F32, ATTUNE_SUM, NULL, NULL) == ATTUNE_SUCCESS);
  EXPECT(attune_complete_capture(comm) == ATTUNE_SUCCESS && sum_is_right(out, ranks, 4));
  float* private_out = malloc(count * sizeof(float));
  fill(out, 3);
  EXPECT(attune_allreduce(comm, out, private_out, count, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_SUCCESS);
  EXPECT(sum_is_right(private_out, ranks, 3));
  free(private_out);
  EXPECT(attune_release(comm, out) == ATTUNE_SUCCESS);
  EXPECT(attune_release(comm, in) == ATTUNE_SUCCESS);
}

static void misuse(attune_comm* comm) {
  float one = 1, sum = 0;
  const attune_plan unknown = {"two_shoot", 1, 0, 0}, empty = {"mesh", 0, 0, 0};
  EXPECT(attune_allreduce_with(comm, &one, &sum, 1, ATTUNE_F32, ATTUNE_SUM, &unknown) == ATTUNE_ERROR_USAGE);
  EXPECT(strstr(attune_error_text(comm), "two_shoot") != NULL);
  EXPECT(strstr(attune_error_text(comm), "two_shot") != NULL);
  EXPECT(attune_allreduce_with(comm, &one, &sum, 1, ATTUNE_F32, ATTUNE_SUM, &empty) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce_with(comm, &one, &sum, 1, ATTUNE_F32, ATTUNE_SUM, NULL) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce(comm, &one, &sum, -1, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce(comm, NULL, &sum, 1, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce(comm, &one, &sum, 1, (attune_dtype)99, ATTUNE_SUM) == ATTUNE_ERROR_USAGE);
  EXPECT(strstr(attune_error_text(comm), "99") != NULL);
  EXPECT(attune_release(comm, &one) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce(NULL, &one, &sum, 1, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_ERROR_USAGE);
  EXPECT(attune_allreduce(comm, &one, &sum, 1, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_SUCCESS);
  EXPECT(sum == (float)attune_size(comm));
}

static void failed_creation(void) {
  attune_options options = ATTUNE_OPTIONS_DEFAULT;
  options.table = "no/such/table.json";
  attune_comm* comm = NULL;
  EXPECT(attune_comm_create(MPI_COMM_WORLD, &options, &comm) == ATTUNE_ERROR_USAGE);
  EXPECT(comm != NULL && strstr(attune_error_text(comm), "no/such/table.json") != NULL);
  EXPECT(attune_size(comm) == 0 && attune_rank(comm) == -1);
  EXPECT(attune_allreduce(comm, NULL, NULL, 0, ATTUNE_F32, ATTUNE_SUM) == ATTUNE_ERROR_USAGE);
  attune_comm_free(comm);
}

/* Without a GPU the cuda device is refused by all ranks, with a way to go on. */
static void cuda_or_not(void) {
  attune_options options = ATTUNE_OPTIONS_DEFAULT;
  options.table = "none";
  options.device = ATTUNE_CUDA;
  attune_comm* comm = NULL;
  const attune_status status = attune_comm_create(MPI_COMM_WORLD, &options, &comm);
  EXPECT(status == ATTUNE_SUCCESS || strstr(attune_error_text(comm), "GPU") != NULL ||
         strstr(attune_error_text(comm), "--device host") != NULL);
  EXPECT(status == ATTUNE_SUCCESS || status == ATTUNE_ERROR_DEVICE);
  attune_comm_free(comm);
}

/* A bad option on the last rank alone is everybody's error: nobody waits for the rank that gave up. */
static void one_rank_fails(int ranks) {
  attune_options options = ATTUNE_OPTIONS_DEFAULT;
  if (my_rank == ranks - 1) options.numerics = (attune_numerics)99;
  attune_comm* comm = NULL;
  EXPECT(attune_comm_create(MPI_COMM_WORLD, &options, &comm) == ATTUNE_ERROR_USAGE);
  EXPECT(comm != NULL && strstr(attune_error_text(comm), "numerics is 99") != NULL);
  attune_comm_free(comm);
  options.numerics = ATTUNE_RANK_ORDER;
  if (my_rank == ranks - 1) options.scratch_bytes = -1;
  EXPECT(attune_comm_create(MPI_COMM_WORLD, &options, &comm) == ATTUNE_ERROR_USAGE);
  attune_comm_free(comm);
  options.scratch_bytes = 0;
  if (my_rank == ranks - 1) options.device = (attune_device)7;
  EXPECT(attune_comm_create(MPI_COMM_WORLD, &options, &comm) == ATTUNE_ERROR_USAGE);
  EXPECT(comm != NULL && strstr(attune_error_text(comm), "unknown device 7") != NULL);
  attune_comm_free(comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  attune_options options = ATTUNE_OPTIONS_DEFAULT;
  options.table = "none";
  attune_comm* comm = NULL;
  EXPECT(attune_comm_create(MPI_COMM_WORLD, &options, &comm) == ATTUNE_SUCCESS);
  EXPECT(attune_rank(comm) == my_rank && strcmp(attune_table_path(comm), "") == 0);
  EXPECT(strcmp(attune_error_text(comm), "") == 0);
  EXPECT(attune_dtype_size(ATTUNE_BF16) == 2 && attune_dtype_size((attune_dtype)-1) == 0);
  sums(comm);
  misuse(comm);
  const int ranks = attune_size(comm);
  attune_comm_free(comm);
  attune_comm_free(NULL);
  failed_creation();
  one_rank_fails(ranks);
  cuda_or_not();
  int worst = 0;
  MPI_Allreduce(&failures, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst != 0;
}
