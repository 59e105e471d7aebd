"""Compares our optimizers, clipping and moving averages with PyTorch's: optimizers.py CPP_PROGRAM.

LARS and LAMB, which PyTorch does not have, are compared with the formulas of their papers in float64. Each case travels
as a file: parameters, gradients of 20 steps, options. The C++ program answers with the parameters after each step."""
import math
import os
import subprocess
import sys
import tempfile

import torch
import torch.jit._pickle
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS = 20
TOLERANCE = 1e-6  # relative to the largest value of a tensor, or to 1


class Lars(torch.optim.Optimizer):
    """You, Gitman, Ginsburg 2017, algorithm 1. Groups without weight decay are not adapted."""

    def __init__(self, groups, lr=0.1, momentum=0.9, weight_decay=0.0, trust_coefficient=0.001, eps=1e-8):
        super().__init__(groups, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, trust=trust_coefficient,
                                      eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                w, g, decay, local = p.norm().item(), p.grad.norm().item(), group["weight_decay"], 1.0
                if decay != 0 and w > 0 and g > 0:
                    local = group["trust"] * w / (g + decay * w + group["eps"])
                state = self.state[p]
                v = group["momentum"] * state.get("v", 0) + group["lr"] * local * (p.grad + decay * p)
                state["v"] = v
                p -= v


class Lamb(torch.optim.Optimizer):
    """You et al. 2020, with the correction of bias. Groups without weight decay are not adapted."""

    def __init__(self, groups, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(groups, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                state["t"] = t = state.get("t", 0) + 1
                state["m"] = m = beta1 * state.get("m", 0) + (1 - beta1) * p.grad
                state["s"] = s = beta2 * state.get("s", 0) + (1 - beta2) * p.grad**2
                u = (m / (1 - beta1**t)) / ((s / (1 - beta2**t)).sqrt() + group["eps"]) + group["weight_decay"] * p
                w, n, ratio = p.norm().item(), u.norm().item(), 1.0
                if group["weight_decay"] != 0 and w > 0 and n > 0:
                    ratio = w / n
                p -= group["lr"] * ratio * u


KINDS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "lars": Lars, "lamb": Lamb}

# Name: kind, options, and what is in the options of the second group, if there is one.
CASES = {
    "sgd": ("sgd", dict(lr=0.1), None),
    "sgd-decay": ("sgd", dict(lr=0.1, weight_decay=0.01), None),
    "sgd-momentum": ("sgd", dict(lr=0.05, momentum=0.9), None),
    "sgd-dampening": ("sgd", dict(lr=0.1, momentum=0.9, dampening=0.5), None),
    "sgd-nesterov": ("sgd", dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4), None),
    "sgd-groups": ("sgd", dict(lr=0.05, momentum=0.9, weight_decay=0.01), dict(lr=0.1, weight_decay=0.0)),
    "adam": ("adam", dict(lr=0.01), None),
    "adam-default": ("adam", dict(), None),
    "adam-decay": ("adam", dict(lr=0.01, weight_decay=0.1, betas=(0.8, 0.95), eps=1e-6), None),
    "adam-amsgrad": ("adam", dict(lr=0.01, amsgrad=True), None),
    "adam-groups": ("adam", dict(lr=0.01, weight_decay=0.1), dict(lr=0.002, weight_decay=0.0)),
    "adamw": ("adamw", dict(lr=0.01), None),
    "adamw-amsgrad": ("adamw", dict(lr=0.01, weight_decay=0.1, amsgrad=True), None),
    "adamw-groups": ("adamw", dict(lr=0.01, weight_decay=0.1), dict(lr=0.002, weight_decay=0.0)),
    "lars": ("lars", dict(lr=1.0, weight_decay=0.01), None),
    "lars-groups": ("lars", dict(lr=1.0, weight_decay=0.01, trust_coefficient=0.01), dict(lr=0.02, weight_decay=0.0)),
    "lamb": ("lamb", dict(lr=0.01), None),
    "lamb-groups": ("lamb", dict(lr=0.01, weight_decay=0.1, betas=(0.8, 0.9)), dict(lr=0.002, weight_decay=0.0)),
    "clip-2": ("sgd", dict(lr=0.1, max_norm=3.0), None),
    "clip-1": ("sgd", dict(lr=0.1, max_norm=30.0, norm_type=1.0), None),
    "clip-inf": ("sgd", dict(lr=0.1, max_norm=1.5, norm_type=math.inf), None),
    "clip-nothing": ("sgd", dict(lr=0.1, max_norm=1e6), None),
    "ema": ("sgd", dict(lr=0.1, decay=0.9), None),
    "ema-slow": ("adam", dict(lr=0.01, decay=0.9999), None),
}


def make_parameters():
    torch.manual_seed(11)
    return [
        torch.randn(17, 5),
        torch.randn(6, 3, 3, 3).contiguous(memory_format=torch.channels_last),
        torch.randn(33),
        torch.randn(40, 40),
        torch.randn(7, dtype=torch.float64),
    ]


def make_gradients(parameters, step):
    torch.manual_seed(100 + step)
    gradients = [torch.randn(p.shape, dtype=p.dtype) for p in parameters]
    if step % 5 == 2:
        gradients[2] = torch.empty(0)  # none
    return gradients


def reference(kind, options, second, parameters, gradients):
    """The same answers as the C++ program's."""
    options = dict(options)
    max_norm, norm_type = options.pop("max_norm", None), options.pop("norm_type", 2.0)
    decay = options.pop("decay", None)
    wide = torch.float64 if kind in ("lars", "lamb") else None
    holder = torch.nn.ParameterList([torch.nn.Parameter(p.to(wide or p.dtype, copy=True)) for p in parameters])
    own = list(holder)
    groups = [{"params": own}] if second is None else [{"params": own[:3]}, {"params": own[3:], **second}]
    optimizer = KINDS[kind](groups, **options)
    average = AveragedModel(holder, multi_avg_fn=get_ema_multi_avg_fn(decay)) if decay is not None else None
    if average:
        average.update_parameters(holder)  # its first call copies
    answers = []
    for step in gradients:
        for p, g in zip(own, step):
            p.grad = None if g.numel() == 0 else g.to(p.dtype, copy=True)
        if max_norm is not None:
            answers.append(torch.nn.utils.clip_grad_norm_(own, max_norm, norm_type))
        optimizer.step()
        answers.extend(p.detach().clone() for p in own)
        if average:
            average.update_parameters(holder)
            answers.extend(p.detach().clone() for p in average.module)
    return answers


def as_tensors(options):
    flat = {key: value for key, value in options.items() if key != "betas"}
    if "betas" in options:
        flat["beta1"], flat["beta2"] = options["betas"]
    return {key: torch.tensor(float(value), dtype=torch.float64) for key, value in flat.items()}


def group(indices, options):
    return {"parameters": [torch.tensor(i) for i in indices], **as_tensors(options)}


failures = 0


def compare(name, found, expected):
    global failures
    if len(found) != len(expected):
        failures += 1
        return print(f"{name}: {len(found)} tensors, expected {len(expected)}", file=sys.stderr)
    worst = 0.0
    for f, e in zip(found, expected):
        scale = max(e.abs().max().item(), 1.0)
        worst = max(worst, (f.double() - e.double()).abs().max().item() / scale)
    if not worst <= TOLERANCE:
        failures += 1
        print(f"{name}: differs by {worst:.2g}, expected {TOLERANCE:.0e} at most", file=sys.stderr)
    return None


parameters = make_parameters()
gradients = [make_gradients(parameters, step) for step in range(STEPS)]
with tempfile.TemporaryDirectory() as folder:
    for name, (kind, options, second) in CASES.items():
        groups = [group(range(5), {})] if second is None else [group(range(3), {}), group(range(3, 5), second)]
        torch.save({"optimizer": kind, "parameters": parameters, "gradients": gradients, "groups": groups,
                    "options": as_tensors(options)}, os.path.join(folder, f"{name}.pt"))
    subprocess.run([sys.argv[1], folder], check=True)
    for name, (kind, options, second) in CASES.items():
        # The name under which C++ writes a list of tensors.
        with torch.serialization.safe_globals([torch.jit._pickle.build_tensorlist]):
            found = torch.load(os.path.join(folder, f"{name}.answer.pt"), weights_only=True)
        compare(name, found, reference(kind, options, second, parameters, gradients))

print(f"{len(CASES)} cases of {STEPS} steps: {failures} differences")
sys.exit(failures != 0)
