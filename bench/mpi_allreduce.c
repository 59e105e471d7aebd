/* MPI_Allreduce alone, measured as `lockstep bench allreduce` measures: what the backend mpi is compared with.
 *
 * usage: mpirun -n N mpi_allreduce [MILLISECONDS [BYTES]...]
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 7, kWarmUps = 3 };

static int size;

/* Seconds for one operation when `iterations` follow one another, on the slowest rank. */
static double time_round(float* data, int count, long iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = 0; i < iterations; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  const double mine = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest / (double)iterations;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double measure(long bytes, double seconds) {
  float* data = aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64));
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(data, 0, (size_t)bytes);
  const int count = (int)(bytes / (long)sizeof(float));
  const double estimate = time_round(data, count, kWarmUps);
  const long fitting = (long)(seconds / kRounds / (estimate > 1e-7 ? estimate : 1e-7));
  const long iterations = fitting > 1 ? fitting : 1;
  double rounds[kRounds];
  for (int i = 0; i < kRounds; ++i) rounds[i] = time_round(data, count, iterations);
  qsort(rounds, kRounds, sizeof(double), compare);
  free(data);
  return rounds[kRounds / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) / 1000 : 0.5;
  const char* usual[] = {"1048576", "26214400", "104857600"};
  const char* const* sizes = argc > 2 ? (const char* const*)argv + 2 : usual;
  const int count = argc > 2 ? argc - 2 : 3;
  if (rank == 0) printf("%12s %12s %12s %12s\n", "bytes", "us", "algbw GB/s", "busbw GB/s");
  for (int i = 0; i < count; ++i) {
    const long bytes = atol(sizes[i]);
    const double time = measure(bytes, seconds);
    const double bandwidth = (double)bytes / time / 1e9;
    if (rank == 0) {
      printf("%12ld %12.2f %12.2f %12.2f\n", bytes, time * 1e6, bandwidth, bandwidth * 2 * (size - 1) / size);
    }
  }
  MPI_Finalize();
  return 0;
}
