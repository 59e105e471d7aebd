"""Compares the schedules with torch.optim.lr_scheduler: schedules.py CPP_PROGRAM."""
import random
import subprocess
import sys
import warnings

import torch
from torch.optim.lr_scheduler import *

TOLERANCE = 1e-12  # of the base rate: PyTorch multiplies from epoch to epoch, and rounds each time
EPOCHS = 100

warnings.simplefilter("ignore")  # SequentialLR calls its schedulers in a way that they warn about


def sequence(optimizer, milestones, *makers):
    return SequentialLR(optimizer, [make(optimizer) for make in makers], milestones)


# Our text, the base rate, and PyTorch's scheduler.
CASES = [
    ("constant", 0.1, lambda o: ConstantLR(o, 1)),
    ("constant(0.5, 5)+constant", 0.1, lambda o: ConstantLR(o, 0.5, 5)),
    ("step(30)", 0.1, lambda o: StepLR(o, 30)),
    ("step(7, 0.3)", 3.0, lambda o: StepLR(o, 7, 0.3)),
    ("multi_step(30, 60, 80)", 0.1, lambda o: MultiStepLR(o, [30, 60, 80])),
    ("multi_step(5, 5, 70, factor=0.4)", 0.1, lambda o: MultiStepLR(o, [5, 5, 70], 0.4)),
    ("exponential(0.9)", 0.1, lambda o: ExponentialLR(o, 0.9)),
    ("polynomial(60)", 0.1, lambda o: PolynomialLR(o, 60)),
    ("polynomial(90, power=2.5)", 0.1, lambda o: PolynomialLR(o, 90, 2.5)),
    ("cosine(100)", 0.1, lambda o: CosineAnnealingLR(o, 100)),
    ("cosine(100, 0.01)", 0.8, lambda o: CosineAnnealingLR(o, 100, 0.01)),
    ("cosine_restarts(10)", 0.1, lambda o: CosineAnnealingWarmRestarts(o, 10)),
    ("cosine_restarts(7, 2, 0.003)", 0.1, lambda o: CosineAnnealingWarmRestarts(o, 7, 2, 0.003)),
    ("one_cycle(100)", 0.1, lambda o: OneCycleLR(o, 0.1, 100)),
    ("one_cycle(100, rise=0.0)", 0.1, lambda o: OneCycleLR(o, 0.1, 100, pct_start=0.0)),
    (
        "one_cycle(100, 0.45, 10, 50, linear)",
        0.4,
        lambda o: OneCycleLR(o, 0.4, 100, pct_start=0.45, div_factor=10, final_div_factor=50, anneal_strategy="linear"),
    ),
    ("warmup(5)", 0.1, lambda o: LinearLR(o)),
    ("warmup(8, 0.125)", 0.8, lambda o: LinearLR(o, 0.125, total_iters=8)),
    (
        "warmup(5, 0.1)+cosine(95)",
        0.1,
        lambda o: sequence(o, [5], lambda o: LinearLR(o, 0.1, total_iters=5), lambda o: CosineAnnealingLR(o, 95)),
    ),
    (
        "warmup(5, 0.1)+step(30)",
        0.1,
        lambda o: sequence(o, [5], lambda o: LinearLR(o, 0.1, total_iters=5), lambda o: StepLR(o, 30)),
    ),
    (
        "warmup(3, 0.5)+constant(0.7, 20)+exponential(0.97)",
        0.1,
        lambda o: sequence(
            o,
            [3, 23],
            lambda o: LinearLR(o, 0.5, total_iters=3),
            lambda o: ConstantLR(o, 0.7, 1000),
            lambda o: ExponentialLR(o, 0.97),
        ),
    ),
]

# The same options in both languages.
PLATEAUS = [
    ("plateau", {}),
    ("plateau(0, 0.2)", {"patience": 0, "factor": 0.2}),
    ("plateau(3, 0.5, mode=max, threshold=0.02)", {"patience": 3, "factor": 0.5, "mode": "max", "threshold": 0.02}),
    ("plateau(2, 0.5, threshold=0.05, threshold_mode=abs)", {"patience": 2, "factor": 0.5, "threshold": 0.05, "threshold_mode": "abs"}),
    ("plateau(1, 0.3, cooldown=4, minimum=0.0007)", {"patience": 1, "factor": 0.3, "cooldown": 4, "min_lr": 0.0007}),
    ("plateau(0, 0.01)", {"patience": 0, "factor": 0.01}),  # comes below PyTorch's least change
]


def optimizer_of(rate):
    return torch.optim.SGD([torch.zeros(1)], lr=rate, momentum=0.9)


def rates(scheduler, optimizer):
    for _ in range(EPOCHS):
        yield optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def plateau_rates(options, metrics):
    optimizer = optimizer_of(0.1)
    scheduler = ReduceLROnPlateau(optimizer, **options)
    for metric in metrics:
        scheduler.step(metric)
        yield optimizer.param_groups[0]["lr"]


lines, expected = [], []
for text, rate, make in CASES:
    optimizer = optimizer_of(rate)
    expected.append(list(rates(make(optimizer), optimizer)))
    lines.append(f"{text}\t{rate}\t{EPOCHS}")
generator = random.Random(7)
for text, options in PLATEAUS:
    for noise in (0.0, 0.05, 0.5):
        falling = [1 / (1 + epoch / 10) + noise * generator.random() for epoch in range(EPOCHS)]
        metrics = [1 - value for value in falling] if options.get("mode") == "max" else falling
        metrics[50:52] = [float("nan"), float("inf")]
        expected.append(list(plateau_rates(options, metrics)))
        lines.append("\t".join([text, "0.1", *map(repr, metrics)]))

answer = subprocess.run([sys.argv[1]], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60)
answers = answer.stdout.splitlines()
failures, worst = 0, 0.0
assert len(answers) == len(lines)
for line, found, wanted in zip(lines, answers, expected):
    text, rate = line.split("\t")[:2]
    found = [float(word) for word in found.split()]
    assert len(found) == len(wanted), text
    differences = [abs(a - b) / float(rate) for a, b in zip(found, wanted)]
    worst = max(worst, *differences)
    if not max(differences) <= TOLERANCE:
        epoch = differences.index(max(differences))
        failures += 1
        print(f"{text}: epoch {epoch} has {found[epoch]}, in PyTorch {wanted[epoch]}", file=sys.stderr)
print(f"{len(lines)} schedules of {EPOCHS} epochs: {failures} differ; at most {worst:.2g} of the base rate")
sys.exit(failures != 0)
