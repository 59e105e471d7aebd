"""PyTorch's side of `lockstep bench compare`: trains a model in turns that it is asked for.

usage: compare_peer.py MODEL CLASSES BATCH DEVICE PRECISION VARIANT

Says in a line of JSON when it is warm. Then each line of stdin is a number of seconds: it trains about so long, and
answers with a line. It ends with stdin. VARIANT: eager, channels-last, compile, channels-last+compile; on GPUs, always
channels-last: graph, reduce-overhead, max-autotune. With RANK and WORLD_SIZE in the environment it is a rank of DDP.
"""
import json
import os
import resource
import sys
import time

# Libraries that print must not disturb the conversation.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
WARM_UPS = 5


def say(**values):
    if int(os.environ.get("RANK", 0)) == 0:
        answers.write(json.dumps(values) + "\n")
        answers.flush()


def make_model(name, classes):
    """The model and the shape of one sample."""
    from torch import nn

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.fc = nn.LSTM(128, 512, 2, batch_first=True), nn.Linear(512, classes)

        def forward(self, x):
            return self.fc(self.lstm(x)[0][:, -1])

    if name == "lstm":
        return Lstm(), (32, 128)
    if name == "mnist":
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, classes)), (1, 28, 28)
    if name == "conv3d":
        layers, channels = [], [2, 16, 32, 64, 128]
        for inputs, outputs in zip(channels, channels[1:]):
            layers += [nn.Conv3d(inputs, outputs, 3, padding=1), nn.LeakyReLU(), nn.MaxPool3d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, classes)), (2, 32, 32, 32)
    import torchvision
    model = getattr(torchvision.models, name.removesuffix("-cifar"))(num_classes=classes)
    if not name.endswith("-cifar"):
        return model, (3, 224, 224)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 7, 1, 3, bias=False), nn.Identity()
    return model, (3, 32, 32)


def main(name, classes, batch, device, precision, variant):
    import torch
    from torch import nn
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = torch.backends.cuda.matmul.allow_tf32 = True
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    if ranks > 1:
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    model, shape = make_model(name, classes)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    inputs, targets = torch.randn(batch, *shape, device=device), torch.randint(classes, (batch,), device=device)
    model = model.to(device).train()
    if "channels-last" in variant or (device == "cuda" and inputs.dim() > 3):
        layout = torch.channels_last if inputs.dim() == 4 else torch.channels_last_3d
        model, inputs = model.to(memory_format=layout), inputs.to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)
    forward = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True) if ranks > 1 else model
    if "compile" in variant:
        forward = torch.compile(forward)
    elif variant in ("reduce-overhead", "max-autotune"):
        forward = torch.compile(forward, mode=variant)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            loss = nn.functional.cross_entropy(forward(inputs), targets)
        loss.backward()
        optimizer.step()

    def graph_of_step():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS + 6):  # DDP wants eleven
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay

    def finish():
        if device == "cuda":
            torch.cuda.synchronize()
        if ranks > 1:
            torch.distributed.barrier()

    def shared(value):
        """Rank 0's number, on all ranks."""
        number = torch.tensor([value], dtype=torch.float64, device=device)
        if ranks > 1:
            torch.distributed.broadcast(number, 0)
        return number.item()

    def peak_memory():
        mine = torch.cuda.max_memory_allocated() if device == "cuda" else \
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        total = torch.tensor([mine], dtype=torch.int64, device=device)
        if ranks > 1:
            torch.distributed.all_reduce(total)
        return int(total.item())

    def time_steps(count):
        finish()
        began = time.perf_counter()
        for _ in range(count):
            run()
        finish()
        return shared((time.perf_counter() - began) / count)

    run = graph_of_step() if variant == "graph" else step
    time_steps(WARM_UPS)
    seconds = time_steps(1)
    say(parameters=parameters, about=f"PyTorch {torch.__version__}")
    while True:
        line = sys.stdin.readline() if int(os.environ.get("RANK", 0)) == 0 else ""
        asked = shared(float(line or 0))
        if asked <= 0:
            break
        seconds = time_steps(max(1, round(asked / seconds)))
        say(samples_per_second=batch * ranks / seconds, peak_memory=peak_memory())
    if ranks > 1:
        torch.distributed.destroy_process_group()


try:
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7])
except Exception as error:
    say(error=f"{type(error).__name__}: {error}"[:2000])
    raise
