"""Compares the models of the registry with torchvision's: models.py CPP_PROGRAM.

Each case travels as a file: an input, labels and, unless it is large, torchvision's state; the large ones have the same
parameters on both sides by one seed. The C++ program answers with what it computed, and with a state of its own, which
torchvision then loads."""
import os
import subprocess
import sys
import tempfile

import torch
import torch.jit._pickle
import torch.nn as nn
import torchvision.models as tv

from nets import Airbench, Conv3d, Lenet, Lstm, Mnist, Transformer

TOLERANCE = 1e-5  # relative to the largest value of a tensor
SEED = 7


def with_stem(name, kernel):
    model = getattr(tv, name)(num_classes=100)
    model.conv1 = nn.Conv2d(3, 64, kernel, 1, kernel // 2, bias=False)
    model.maxpool = nn.Identity()
    return model


class Case:
    """`seeded`: one seed must give both the same parameters. `travels`: the state is sent, and one comes back."""

    def __init__(self, name, make, shape, stem="imagenet", seeded=True, travels=True, options=()):
        self.name, self.make, self.shape, self.stem = name, make, shape, stem
        self.seeded, self.travels, self.options = seeded, travels, options
        self.file = f"{name}-{stem}"
        self.title = f"{name} ({', '.join([stem, *options])})"

    def model(self):
        torch.manual_seed(SEED)
        return self.make()


def large(name, shape=(2, 3, 64, 64)):
    return Case(name, getattr(tv, name), shape, travels=False)


CASES = [
    Case("resnet18", tv.resnet18, (2, 3, 224, 224)),
    Case("resnet50", tv.resnet50, (2, 3, 224, 224)),
    Case("resnet18", lambda: with_stem("resnet18", 7), (4, 3, 32, 32), stem="cifar", seeded=False),
    Case("resnet50", lambda: with_stem("resnet50", 7), (4, 3, 32, 32), stem="cifar", seeded=False),
    Case("resnet18", lambda: with_stem("resnet18", 3), (4, 3, 32, 32), stem="cifar3x3", seeded=False),
    Case("resnet34", lambda: tv.resnet34(zero_init_residual=True), (4, 3, 64, 64), options=["zero_init_residual"]),
    *(large(name) for name in "resnet101 wide_resnet50_2 resnext50_32x4d".split()),
    Case("alexnet", tv.alexnet, (4, 3, 224, 224)),
    Case("vgg11_bn", tv.vgg11_bn, (2, 3, 64, 64)),
    *(large(name) for name in "vgg16 vgg19_bn".split()),
    Case("airbench", Airbench, (4, 3, 32, 32)),
    Case("mnist", Mnist, (8, 1, 28, 28)),
    Case("lenet", Lenet, (8, 1, 28, 28)),
    Case("lstm", Lstm, (4, 32, 128)),
    Case("conv3d", Conv3d, (2, 2, 32, 32, 32)),
    # Python's layers are copies of one another at first.
    Case("transformer", Transformer, (4, 32, 128), seeded=False),
]
# Larger ones of the same families: with LOCKSTEP_TEST_FULL=1 they are computed too.
if os.environ.get("LOCKSTEP_TEST_FULL"):
    CASES += [large(name) for name in "resnet152 resnext101_64x4d vgg16_bn vgg19".split()]

failures = 0


def fail(message):
    global failures
    failures += 1
    print(message, file=sys.stderr)


def expect_near(what, found, expected):
    if found.shape != expected.shape:
        return fail(f"{what}: found shape {tuple(found.shape)}, expected {tuple(expected.shape)}")
    scale = max(expected.abs().max().item(), 1e-30)
    difference = (found - expected).abs().max().item() / scale
    if not difference <= TOLERANCE:
        fail(f"{what}: differs by {difference:.2g} of the largest value {scale:.2g}, expected {TOLERANCE:.0e} at most")


def expect_names(what, found, expected):
    found = {name: shape.tolist() for name, shape in found.items()}
    expected = {name: list(tensor.shape) for name, tensor in expected.items()}
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            fail(f"{what}: '{name}' is {found.get(name)}, in torchvision {expected.get(name)}")


def sample(tensor):
    """Of a large tensor, some of its values: what travels stays small."""
    return tensor.flatten()[::97] if tensor.numel() > 1_000_000 else tensor


def compare(case, model, sent, answer):
    state = model.state_dict()
    expect_names(case.title, answer["shapes"], state)
    if case.seeded:
        for key, value in state.items():
            if not torch.equal(answer["initial"][key], sample(value)):
                fail(f"{case.title}: one seed gives '{key}' other values than torchvision's")

    torch.manual_seed(SEED)  # for dropout
    output = model(sent["input"])
    loss = nn.functional.cross_entropy(output, sent["labels"])
    loss.backward()
    expect_near(f"{case.title}, output", answer["results"]["output"], output.detach())
    expect_near(f"{case.title}, loss", answer["results"]["loss"], loss.detach())
    for key, parameter in model.named_parameters():
        expect_near(f"{case.title}, gradient of {key}", answer["gradients"][key], sample(parameter.grad))
    for key, value in model.named_buffers():
        expect_near(f"{case.title}, {key}", answer["buffers"][key].double(), value.double())


def compare_way_back(case, model, sent, back):
    expected = back.pop("the output")
    model.load_state_dict(back, strict=True)
    model.eval()
    with torch.no_grad():
        expect_near(f"{case.title}, output from our state", model(sent["input"]), expected)


def send(case, folder):
    model = case.model()
    sent = {
        "input": torch.randn(case.shape),
        "labels": torch.arange(case.shape[0]) % 4,
        "classes": torch.tensor(list(model.parameters())[-1].shape[0]),
    }
    state = {"state": dict(model.state_dict())} if case.travels else {}
    options = {option: torch.tensor(True) for option in case.options}
    torch.save(sent | options | state, os.path.join(folder, case.file + ".pt"))
    return model, sent


def load(*path):
    # The name under which C++ writes the types of its dictionaries.
    with torch.serialization.safe_globals([torch.jit._pickle.restore_type_tag]):
        return torch.load(os.path.join(*path), weights_only=True)


for case in CASES:
    with tempfile.TemporaryDirectory() as folder:
        model, sent = send(case, folder)
        subprocess.run([sys.argv[1], folder, str(SEED), case.file], check=True, timeout=120)
        answer = load(folder, case.file + ".answer.pt")
        compare(case, model, sent, answer)
        if case.travels:
            compare_way_back(case, model, sent, answer["back"])

print(f"{len(CASES)} models, {sum(case.travels for case in CASES)} of them there and back: {failures} differences")
sys.exit(failures != 0)
