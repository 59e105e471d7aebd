#!/bin/bash
#SBATCH --job-name=resnet50
#SBATCH --partition=gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=8
#SBATCH --time=1-00:00:00
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
#SBATCH --requeue

# 1 node, 8 ranks on each. Written by `lockstep submit`, to be read and changed.

set -euo pipefail

# `lockstep run` starts itself on each node through srun, which must be told of the cores again.
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_ON_NODE

# The ranks find one another by themselves: no MASTER_ADDR, no port.
lockstep run --ranks-per-node 8 -- lockstep train /home/ann/train/resnet50.yaml &
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
