#!/bin/bash -l
#SBATCH --job-name=resnet50
#SBATCH --qos=regular
#SBATCH --constraint=knl,quad,cache
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=68
#SBATCH --threads-per-core=1
#SBATCH --time=12:00:00
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
#SBATCH --requeue

# 8 nodes, 1 rank on each. Written by `lockstep submit`, to be read and changed.

# Before the strict mode below, which not every module bears.
module load lockstep

set -euo pipefail

# 68 threads of each rank, one for each core that computes.
# KMP_BLOCKTIME is for Intel's OpenMP: a thread that waits gives its core back at once.
export OMP_NUM_THREADS=68
export KMP_BLOCKTIME=0

# The ranks find one another by themselves: no MASTER_ADDR, no port.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores --wait=300 \
  lockstep train /home/ann/train/resnet50.yaml &
ranks=$!

# 120 s before the time limit Slurm sends USR1 to this shell alone. It goes on to the ranks, which
# write a checkpoint and exit with 75.
asked=nothing
trap 'asked=USR1 woken=yes; kill -s USR1 "$ranks" || :' USR1
trap 'asked=TERM woken=yes; kill -s TERM "$ranks" || :' TERM

# A trapped signal ends `wait`; the ranks still need their time.
woken=yes
while [[ $woken == yes ]]; do
  woken=no code=0
  wait "$ranks" || code=$?
done

# 75 says that there is a checkpoint to go on from: back into the queue, unless somebody cancelled
# the job (a preempted one Slurm requeues by itself) or it has been back often enough.
if ((code == 75 && ${SLURM_RESTART_COUNT:-0} < 20)) && [[ $asked != TERM ]]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
