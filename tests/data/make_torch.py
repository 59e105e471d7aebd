"""Writes tests/data/torch: small files of PyTorch's, as its users write them. Needs torch 2.11.

usage: make_torch.py
"""

import os
import pathlib

import torch

folder = pathlib.Path(__file__).parent / "torch"
folder.mkdir(exist_ok=True)


def counted(*shape, dtype=torch.float32):
    """0, 1, 2, ... in plain order."""
    size = torch.Size(shape).numel()
    return torch.arange(size, dtype=torch.float32).to(dtype).reshape(shape)


class Runs:
    def __reduce__(self):
        return os.system, ("touch ran-it",)


types = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2",
         "float16", "bfloat16", "float32", "float64", "complex64"]  # fmt: skip
torch.save({name: counted(2, dtype=getattr(torch, name)) for name in types}, folder / "types.pt")

whole = counted(4, 3)
layouts = {
    "scalar": torch.tensor(3.5),
    "empty": torch.zeros(0, 3),
    "channels_last": counted(2, 3, 2, 2).to(memory_format=torch.channels_last),
    "transposed": counted(3, 2).t(),
    "row": whole[2],
    "column": whole[:, 1],
    "whole": whole,
    "expanded": torch.tensor([7.0]).expand(2, 3),
    "parameter": torch.nn.Parameter(counted(2)),
}
torch.save(layouts, folder / "layouts.pt")

model = torch.nn.DataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
with torch.no_grad():
    model.module.weight.copy_(counted(1, 2))
    model.module.bias.fill_(5)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
with torch.no_grad():
    model.module.weight.copy_(counted(1, 2))
    model.module.bias.fill_(5)
checkpoint = {
    "epoch": 3,
    "arch": "linear",
    "state_dict": model.state_dict(),
    "best_acc1": torch.tensor(76.1),
    "optimizer": optimizer.state_dict(),
    "ema": {"module.weight": counted(1, 2) + 1, "module.bias": torch.tensor([6.0]), "steps": 12},
}
torch.save(checkpoint, folder / "model_best.pth.tar")
torch.save({"model": model.state_dict(), "state_dict": model.state_dict()}, folder / "two.pt")
torch.save({"a": counted(2)}, folder / "protocol4.pt", pickle_protocol=4)
torch.save({"a": counted(2)}, folder / "legacy.pt", _use_new_zipfile_serialization=False)
torch.save({"a": counted(2), "b": Runs()}, folder / "runs_it.pt")
torch.jit.script(torch.nn.Linear(1, 1)).save(str(folder / "script.pt"))
