"""Trains with PyTorch's DistributedDataParallel on two ranks, then with ours, and has the second compare.

usage: data_parallel.py LOCKSTEP CPP_PROGRAM, which starts itself again as two ranks: data_parallel.py --rank FOLDER"""
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
from torch.nn.parallel import DistributedDataParallel

from nets import Lstm

STEPS = 10
RANKS = 2

# In float64: in float32 ten steps of training make more of the last bit than 1e-6.
CASES = {"resnet18": (torchvision.models.resnet18, (3, 64, 64)), "lstm": (Lstm, (8, 128))}


def train(name, folder):
    make, shape = CASES[name]
    torch.manual_seed(7)
    model = make().double()
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    losses = []
    for step in range(STEPS):
        torch.manual_seed(100 * step + dist.get_rank())
        inputs, labels = torch.randn(4, *shape, dtype=torch.float64), torch.randint(100, (4,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(parallel(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    result = {"losses": torch.stack(losses)} | {key: value.detach() for key, value in model.named_parameters()}
    torch.save(result, os.path.join(folder, f"{name}-{dist.get_rank()}.pt"))


if sys.argv[1] == "--rank":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for case in CASES:
        train(case, sys.argv[2])
    dist.destroy_process_group()
    sys.exit()

lockstep, program = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    run = [lockstep, "run", "-n", str(RANKS)]
    subprocess.run([*run, "--store", "tcp", "--", sys.executable, __file__, "--rank", folder], check=True, timeout=200)
    subprocess.run([*run, "--", program, folder, *CASES], check=True, timeout=200)
