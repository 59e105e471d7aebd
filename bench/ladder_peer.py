"""The rungs of `lockstep bench step --ladder` in PyTorch, one after another.

usage: ladder_peer.py cpu|cuda MODEL STEM BATCH SECONDS ROUNDS [THREADS]

Prints one JSON value: samples a second of each rung, the median of ROUNDS windows of SECONDS, and the peak of the
device's memory."""
import json
import statistics
import sys
import time
from contextlib import nullcontext

import torch
import torch.nn as nn
import torchvision

device, name, stem, batch, seconds, rounds = sys.argv[1], sys.argv[2], sys.argv[3], *map(float, sys.argv[4:7])
batch, rounds = int(batch), int(rounds)
all_threads = int(sys.argv[7]) if len(sys.argv) > 7 else torch.get_num_threads()
WARM_UPS = 8

CUDA = [
    dict(name="fp32"),
    dict(name="tf32", tf32=True),
    dict(name="amp fp16", tf32=True, dtype=torch.float16),
    dict(name="+ channels-last", tf32=True, dtype=torch.float16, nhwc=True),
    dict(name="+ fused SGD, autotuning", tf32=True, dtype=torch.float16, nhwc=True, fused=True, tuned=True),
    dict(name="bf16", tf32=True, dtype=torch.bfloat16, nhwc=True, fused=True, tuned=True),
    dict(name="+ CUDA graph", tf32=True, dtype=torch.bfloat16, nhwc=True, fused=True, tuned=True, graph=True),
]
CPU = [
    dict(name="fp32, 1 thread", threads=1),
    dict(name="all threads"),
    dict(name="+ channels-last", nhwc=True),
    dict(name="+ fused SGD", nhwc=True, fused=True),
    dict(name="bf16", nhwc=True, fused=True, dtype=torch.bfloat16),
]


def make_model():
    classes = 1000 if stem == "imagenet" else 100
    model = getattr(torchvision.models, name)(num_classes=classes)
    if stem != "imagenet":
        model.conv1 = nn.Conv2d(3, 64, 7, 1, 3, bias=False)
        model.maxpool = nn.Identity()
    return model.to(device).train(), classes, 224 if stem == "imagenet" else 32


def synchronize():
    if device == "cuda":
        torch.cuda.synchronize()


def measure(rung):
    torch.manual_seed(0)
    torch.set_num_threads(rung.get("threads", all_threads))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = rung.get("tf32", False)
    torch.backends.cudnn.benchmark = rung.get("tuned", False)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    model, classes, side = make_model()
    images = torch.randn(batch, 3, side, side, device=device)
    labels = torch.randint(classes, (batch,), device=device)
    if rung.get("nhwc"):
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=rung.get("fused", False))
    dtype = rung.get("dtype")
    scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=dtype) if dtype else nullcontext():
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    go = step
    if rung.get("graph"):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        go = graph.replay
    for _ in range(WARM_UPS if device == "cuda" else 2):
        go()
    synchronize()
    begin = time.perf_counter()
    go()
    synchronize()
    steps = max(1, round(seconds / (time.perf_counter() - begin)))
    speeds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(steps):
            go()
        synchronize()
        speeds.append(batch * steps / (time.perf_counter() - begin))
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    return {"rung": rung["name"], "samples_per_second": statistics.median(speeds), "peak_memory": peak}


print(json.dumps([measure(rung) for rung in (CUDA if device == "cuda" else CPU)]))
