"""Compares autocast and GradScaler with Python's: amp.py CPP_PROGRAM.

The cases travel as a file of tensors, and the C++ program answers with one. Both run the same kernels in the same order,
so all must be equal bit by bit."""
import os
import subprocess
import sys
import tempfile

import torch
import torch.jit._pickle
import torch.nn as nn
import torch.nn.functional as F

STEPS = 10
failures = 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 16, 3, stride=2), nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def training_case():
    net = Net()
    case = {
        "state": {name: value.detach().clone() for name, value in net.named_parameters()},
        "inputs": torch.randn(STEPS, 16, 3, 12, 12),
        "labels": torch.randint(10, (STEPS, 16)),
    }
    return net, case


def train(net, case):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for inputs, labels in zip(case["inputs"], case["labels"]):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {**net.state_dict(), "losses": torch.stack(losses)}


def scaling_case():
    slopes = torch.randn(24, 2, 5)
    for step, parameter, value in [(1, 0, "inf"), (2, 1, "nan"), (5, 0, "-inf"), (5, 1, "inf"), (13, 1, "inf")]:
        slopes[step, parameter, step % 5] = float(value)
    numbers = {"init_scale": 512.0, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 3.0}
    return {"slopes": slopes, **{name: torch.tensor(value, dtype=torch.float64) for name, value in numbers.items()}}


def scale(case):
    scaler = torch.amp.GradScaler(
        "cpu",
        init_scale=case["init_scale"].item(),
        growth_factor=case["growth_factor"].item(),
        backoff_factor=case["backoff_factor"].item(),
        growth_interval=int(case["growth_interval"].item()),
    )
    slopes = case["slopes"]
    first, second = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
    sgd = torch.optim.SGD([first], lr=0.1, momentum=0.9)
    nesterov = torch.optim.SGD([second], lr=0.1, momentum=0.5, weight_decay=0.01, nesterov=True)
    scales, trackers, parameters = [], [], []
    for step, (a, b) in enumerate(slopes):
        sgd.zero_grad()
        nesterov.zero_grad()
        scaler.scale((first * a).sum() + (second * b).sum()).backward()
        if step % 3 == 0:
            scaler.unscale_(sgd)
            nn.utils.clip_grad_norm_([first], 1.0)
        scaler.step(sgd)
        scaler.step(nesterov)
        scaler.update(96.0 if step == len(slopes) // 2 else None)
        scales.append(scaler.get_scale())
        trackers.append(scaler._get_growth_tracker())
        parameters.append(torch.stack([first.detach(), second.detach()]))
    return {
        "scales": torch.tensor(scales, dtype=torch.float64),
        "trackers": torch.tensor(trackers),
        "parameters": torch.stack(parameters),
    }


def compare(what, found, expected):
    global failures
    for name in sorted(found.keys() | expected.keys()):
        if name not in found or name not in expected:
            failures += 1
            print(f"{what}: '{name}' is on one side only", file=sys.stderr)
            continue
        a, b = found[name].double(), expected[name].double()
        difference = (a - b).abs().max().item() if a.shape == b.shape else float("nan")
        if difference != 0:
            failures += 1
            print(f"{what}: '{name}' differs by {difference:.2g}, expected none", file=sys.stderr)


def main(program):
    torch.manual_seed(5)
    net, training = training_case()
    scaling = scaling_case()
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"training": training, "scaling": scaling}, os.path.join(folder, "cases.pt"))
        subprocess.run([program, folder], check=True)
        # The name under which C++ writes the types of its dictionaries.
        with torch.serialization.safe_globals([torch.jit._pickle.restore_type_tag]):
            answers = torch.load(os.path.join(folder, "answers.pt"), weights_only=True)
    expected = scale(scaling)
    skipped = (expected["parameters"][1:] == expected["parameters"][:-1]).all(2).sum(0)
    assert skipped.tolist() == [2, 3], skipped  # or nothing was tested
    compare("training", answers["training"], train(net, training))
    compare("scaling", answers["scaling"], expected)
    print(f"{STEPS} steps under autocast and {len(scaling['slopes'])} of a scaler: {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
