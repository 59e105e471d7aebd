"""PyTorch's DDP over Gloo as bench/data-parallel runs it: data_parallel_peer.py MODEL BATCH ROUNDS SECONDS, on each rank.

Rank 0 prints one line of JSON: samples a second without synchronization, and what DDP keeps of them."""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
from torch.nn.parallel import DistributedDataParallel

name, batch, rounds, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo")


def make():
    torch.manual_seed(0)
    if name == "mnist":
        layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                  nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)]
        return nn.Sequential(*layers), (1, 28, 28)
    if name == "alexnet":
        return torchvision.models.alexnet(num_classes=10), (3, 224, 224)
    model = getattr(torchvision.models, name)(num_classes=10)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 7, 1, 3, bias=False), nn.Identity()
    return model, (3, 32, 32)


def make_step(wrapped):
    model, shape = make()
    model = model.to(memory_format=torch.channels_last)
    inputs = torch.randn(batch, *shape).to(memory_format=torch.channels_last)
    labels = torch.randint(10, (batch,))
    forward = DistributedDataParallel(model, gradient_as_bucket_view=True) if wrapped else model
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(forward(inputs), labels).backward()
        optimizer.step()

    return step


def time_steps(step, count):
    dist.barrier()
    start = time.perf_counter()
    for _ in range(count):
        step()
    elapsed = torch.tensor((time.perf_counter() - start) / count)
    dist.all_reduce(elapsed, dist.ReduceOp.MAX)
    return elapsed.item()


steps, counts = [make_step(False), make_step(True)], []
for step in steps:
    time_steps(step, 3)
    counts.append(max(1, round(seconds / time_steps(step, 1))))
times = [[time_steps(step, count) for step, count in zip(steps, counts)] for _ in range(rounds)]
if dist.get_rank() == 0:
    alone = statistics.median(first for first, _ in times)
    kept = statistics.median(first / second for first, second in times)
    print(json.dumps({"none": batch * dist.get_world_size() / alone, "kept": kept}), flush=True)
dist.barrier()  # rank 0 holds the store: it must not leave while others still end
dist.destroy_process_group()
