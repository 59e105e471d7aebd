"""Two ranks over Gloo, one of Python and one of C++: mixed_job.py PYTHON_RANK CPP_PROGRAM, started as both."""
import datetime
import os
import sys

python_rank, cpp_program = int(sys.argv[1]), sys.argv[2]
rank = int(os.environ["RANK"])
if rank != python_rank:
    os.execv(cpp_program, [cpp_program])

import torch
import torch.distributed as dist

failures = 0


def expect(what, found, expected):
    global failures
    if not torch.equal(found, expected):
        failures += 1
        print(f"{what}: found {found}, expected {expected}", file=sys.stderr)


def values(rank, dtype=torch.float32):
    return (torch.arange(1000) % 17 + 3 * rank + 1).to(dtype)


dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
for dtype in (torch.float32, torch.float64, torch.int32, torch.int64, torch.float16, torch.bfloat16):
    total = values(rank, dtype)
    dist.all_reduce(total)
    expect("all_reduce", total, values(0, dtype) + values(1, dtype))

largest = values(rank)
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
expect("all_reduce max", largest, values(1))

shared = values(rank)
dist.broadcast(shared, 1)
expect("broadcast", shared, values(1))

gathered = torch.empty(2000)
dist.all_gather_into_tensor(gathered, values(rank))
expect("all_gather", gathered, torch.cat([values(0), values(1)]))

if rank == 0:
    dist.send(values(5), 1, tag=7)
else:
    received = torch.empty(1000)
    dist.recv(received, 0, tag=7)
    expect("send", received, values(5))
dist.barrier()
print(f"rank {rank} (Python) is {'right' if failures == 0 else 'wrong'}")
dist.destroy_process_group()
sys.exit(failures != 0)
