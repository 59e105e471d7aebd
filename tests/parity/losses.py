"""Compares losses and top-k accuracy with PyTorch's: losses.py CPP_PROGRAM."""
import os
import subprocess
import sys
import tempfile

import torch
import torch.jit._pickle
import torch.nn.functional as F

TOLERANCE = 1e-6

torch.manual_seed(7)
scores, labels, soft = torch.randn(64, 10), torch.randint(10, (64,)), torch.rand(64, 10).softmax(1)
CASES = {"squared": {"scores": scores, "targets": torch.randn(64, 10), "squared": torch.tensor(True)}}
for smoothing in (0.0, 0.1, 0.5):
    for kind, targets in (("classes", labels), ("soft", soft)):
        case = {"scores": scores, "targets": targets, "smoothing": torch.tensor(smoothing, dtype=torch.float64)}
        CASES[f"{kind}, smoothing {smoothing}"] = case
        CASES[f"{kind}, smoothing {smoothing}, bfloat16"] = case | {"scores": scores.bfloat16()}
CASES["ties"] = CASES["classes, smoothing 0.0"] | {"scores": torch.randint(3, (64, 10)).float()}
CASES["pixels"] = CASES["ties"] | {"scores": torch.randn(4, 10, 5, 6), "targets": torch.randint(10, (4, 5, 6))}


def expected(case):
    scores = case["scores"].clone().requires_grad_()
    wide, targets = scores.float(), case["targets"]
    if "squared" in case:
        loss = F.mse_loss(wide, targets)
    else:
        loss = F.cross_entropy(wide, targets, label_smoothing=case["smoothing"].item())
    loss.backward()
    result = {"loss": loss.detach(), "gradient": scores.grad}
    if "squared" not in case and scores.dim() == 2:
        classes = targets.argmax(1) if targets.is_floating_point() else targets
        hits = scores.topk(5, 1).indices == classes[:, None]
        result["counts"] = torch.stack([hits[:, :1].sum(), hits.sum()])
    return result


failures = 0
with tempfile.TemporaryDirectory() as folder:
    torch.save(CASES, os.path.join(folder, "cases.pt"))
    subprocess.run([sys.argv[1], folder], check=True, timeout=60)
    with torch.serialization.safe_globals([torch.jit._pickle.restore_type_tag]):
        answers = torch.load(os.path.join(folder, "answers.pt"), weights_only=True)
    for name, case in CASES.items():
        wanted = expected(case)
        assert answers[name].keys() == wanted.keys(), name
        for key, value in wanted.items():
            found = answers[name][key]
            difference = (found.double() - value.double()).abs().max().item()
            if found.dtype != value.dtype or found.shape != value.shape or not difference <= TOLERANCE:
                failures += 1
                print(f"{name}, {key}: differs by {difference:.2g}", file=sys.stderr)
print(f"{len(CASES)} losses: {failures} differences")
sys.exit(failures != 0)
