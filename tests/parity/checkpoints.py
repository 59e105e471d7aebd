"""Weights from PyTorch into Lockstep's checkpoints and back, every tensor equal bit for bit.

usage: checkpoints.py LOCKSTEP
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import torchvision

lockstep = sys.argv[1]


def run(*words):
    done = subprocess.run([lockstep, "checkpoint", *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(found, expected, what):
    assert set(found) == set(expected), f"{what}: {set(found) ^ set(expected)}"
    for name, tensor in expected.items():
        other = found[name]
        assert other.dtype == tensor.dtype and other.shape == tensor.shape, f"{what}: {name}"
        assert other.is_contiguous(), f"{what}: {name}"
        plain = tensor.detach().contiguous()
        assert torch.equal(other.reshape(-1).view(torch.uint8), plain.reshape(-1).view(torch.uint8)), f"{what}: {name}"
    print(f"{what}: {len(expected)} tensors are equal")


def random_bits(shape, dtype):
    """Every pattern of bits, NaN among them."""
    size = torch.Size(shape).numel() * dtype.itemsize
    return torch.randint(0, 256, (size,), dtype=torch.uint8).view(dtype).reshape(shape)


def kinds():
    """All that a state dict may hold."""
    torch.manual_seed(1)
    state = collections.OrderedDict()
    for dtype in [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
                  torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.bfloat16, torch.float32, torch.float64,
                  torch.complex64]:  # fmt: skip
        state[str(dtype)] = random_bits((3, 5), dtype)
    state["torch.bool"] = torch.tensor([True, False])
    shared = torch.randn(8, 6)
    state.update(whole=shared, row=shared[3], column=shared[:, 2], block=shared[2:5, 1:4], transposed=shared.t())
    state["channels_last"] = torch.randn(4, 3, 5, 7).to(memory_format=torch.channels_last)
    state["channels_last_3d"] = torch.randn(2, 3, 2, 5, 7).to(memory_format=torch.channels_last_3d)
    state["expanded"] = torch.randn(1, 4).expand(3, 4)
    state["every_third"] = torch.randn(30, dtype=torch.float64)[::3]
    state.update(scalar=torch.tensor(2.5), empty=torch.zeros(0, 3), parameter=torch.nn.Parameter(torch.randn(2, 2)))
    return state


def cases():
    resnet = torchvision.models.resnet18()
    yield "resnet18", resnet.state_dict(), resnet.state_dict(), []
    half = resnet.half().to(memory_format=torch.channels_last)
    yield "half, channels-last", half.state_dict(), half.state_dict(), []
    wrapped = {"module." + name: tensor for name, tensor in half.state_dict().items()}
    optimizer = torch.optim.Adam(half.parameters())
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
    script = {"epoch": 4, "arch": "resnet18", "state_dict": wrapped, "best_acc1": torch.tensor(70.0),
              "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}  # fmt: skip
    yield "the ImageNet script's", script, half.state_dict(), []
    yield "every kind", kinds(), kinds(), []
    yield "by key", {"a": {"b": kinds()}}, kinds(), ["--key", "a/b"]


def check(folder):
    for number, (what, saved, expected, words) in enumerate(cases()):
        path = folder / f"{number}.pth.tar"
        torch.save(saved, path)
        run("verify", path)
        run("import", path, folder / f"{number}.safetensors", *words)
        same(safetensors.torch.load_file(folder / f"{number}.safetensors"), expected, f"{what}, imported into a file")
        run("import", path, folder / f"weights-{number}", *words)
        checkpoint = folder / f"weights-{number}" / "0"
        run("verify", checkpoint)
        same(safetensors.torch.load_file(checkpoint / "model.safetensors"), expected, f"{what}, in the checkpoint")
        for ending in ["pt", "safetensors"]:
            run("export", checkpoint, folder / f"{number}-out.{ending}")
        same(torch.load(folder / f"{number}-out.pt", weights_only=True), expected, f"{what}, exported for PyTorch")
        mapped = torch.load(folder / f"{number}-out.pt", weights_only=True, mmap=True)
        same(mapped, expected, f"{what}, exported for PyTorch and mapped")
        same(safetensors.torch.load_file(folder / f"{number}-out.safetensors"), expected, f"{what}, exported")


def check_from_python(folder):
    """A safetensors file that Python wrote."""
    state = {name: tensor.detach().contiguous().clone() for name, tensor in kinds().items()}
    safetensors.torch.save_file(state, folder / "python.safetensors", {"format": "pt"})
    run("export", folder / "python.safetensors", folder / "python.pt")
    same(torch.load(folder / "python.pt", weights_only=True), state, "from Python's safetensors")


def check_without_checksums(folder):
    torch.serialization.set_crc32_options(False)
    torch.save(kinds(), folder / "bare.pt")
    torch.serialization.set_crc32_options(True)
    assert "no checksums" in run("verify", folder / "bare.pt")
    run("import", folder / "bare.pt", folder / "bare.safetensors")
    same(safetensors.torch.load_file(folder / "bare.safetensors"), kinds(), "without checksums")


def check_refused(folder):
    torch.save({"model": kinds(), "args": argparse.Namespace(lr=0.1)}, folder / "names.pt")
    words = [lockstep, "checkpoint", "import", folder / "names.pt", folder / "names.safetensors"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "would run 'argparse.Namespace'" in done.stderr, done.stderr


with tempfile.TemporaryDirectory() as name:
    for each in [check, check_from_python, check_without_checksums, check_refused]:
        each(pathlib.Path(name))
