"""Compares the models of the registry with torchvision's: models.py CPP_PROGRAM.

Each case travels as a file: torchvision's state, an input and labels. The C++ program answers with what it computed."""
import os
import subprocess
import sys
import tempfile

import torch
import torch.jit._pickle
import torch.nn as nn
import torchvision

from nets import Conv3d, Lstm, Mnist

TOLERANCE = 1e-5  # relative to the largest value of a tensor
SEED = 7
NAMED_ONLY = "resnet34 resnet101 resnet152 wide_resnet50_2 resnext50_32x4d vgg19".split()


def with_stem(name, kernel):
    model = getattr(torchvision.models, name)(num_classes=100)
    model.conv1 = nn.Conv2d(3, 64, kernel, 1, kernel // 2, bias=False)
    model.maxpool = nn.Identity()
    return model


# Model and stem, how Python makes it, the shape of the input, and whether one seed must give both the same parameters.
CASES = [
    ("resnet18", "imagenet", torchvision.models.resnet18, (2, 3, 224, 224), True),
    ("resnet50", "imagenet", torchvision.models.resnet50, (2, 3, 224, 224), True),
    ("resnet18", "cifar", lambda: with_stem("resnet18", 7), (4, 3, 32, 32), False),
    ("resnet50", "cifar", lambda: with_stem("resnet50", 7), (4, 3, 32, 32), False),
    ("resnet18", "cifar3x3", lambda: with_stem("resnet18", 3), (4, 3, 32, 32), False),
    ("alexnet", "imagenet", torchvision.models.alexnet, (4, 3, 224, 224), True),
    ("vgg11_bn", "imagenet", torchvision.models.vgg11_bn, (2, 3, 64, 64), True),
    ("mnist", "imagenet", Mnist, (8, 1, 28, 28), True),
    ("lstm", "imagenet", Lstm, (4, 32, 128), True),
    ("conv3d", "imagenet", Conv3d, (2, 2, 32, 32, 32), True),
]

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


def shapes(state):
    return {name: list(tensor.shape) for name, tensor in state.items()}


def expect_names(what, found, expected):
    found = {name: shape.tolist() for name, shape in found.items()}
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            fail(f"{what}: '{name}' is {found.get(name)}, in torchvision {expected.get(name)}")


def sample(tensor):
    """Of a large tensor, some of its values: what travels stays small."""
    return tensor.flatten()[::97] if tensor.numel() > 1_000_000 else tensor


def compare(model, sent, answer, what, seeded):
    state = model.state_dict()
    expect_names(what, answer["shapes"], shapes(state))
    if seeded:
        for key, value in state.items():
            if not torch.equal(answer["initial"][key], sample(value)):
                fail(f"{what}: one seed gives '{key}' other values than torchvision's")

    torch.manual_seed(SEED)  # for dropout
    output = model(sent["input"])
    loss = nn.functional.cross_entropy(output, sent["labels"])
    loss.backward()
    expect_near(f"{what}, output", answer["results"]["output"], output.detach())
    expect_near(f"{what}, loss", answer["results"]["loss"], loss.detach())
    for key, parameter in model.named_parameters():
        expect_near(f"{what}, gradient of {key}", answer["gradients"][key], sample(parameter.grad))
    for key, value in model.named_buffers():
        expect_near(f"{what}, {key}", answer["buffers"][key].double(), value.double())


def load(*path):
    # The name under which C++ writes the types of its dictionaries.
    with torch.serialization.safe_globals([torch.jit._pickle.restore_type_tag]):
        return torch.load(os.path.join(*path), weights_only=True)


with tempfile.TemporaryDirectory() as folder:
    models, inputs = {}, {}
    for name, stem, make, shape, _ in CASES:
        torch.manual_seed(SEED)
        model = models[name, stem] = make()
        sent = inputs[name, stem] = {
            "input": torch.randn(shape),
            "labels": torch.arange(shape[0]) % 4,
            "classes": torch.tensor(list(model.parameters())[-1].shape[0]),
        }
        torch.save(sent | {"state": dict(model.state_dict())}, os.path.join(folder, f"{name}-{stem}.pt"))
    subprocess.run([sys.argv[1], folder, str(SEED), *NAMED_ONLY], check=True)
    for name, stem, _, _, seeded in CASES:
        answer = load(folder, f"{name}-{stem}.answer.pt")
        compare(models.pop((name, stem)), inputs[name, stem], answer, f"{name} ({stem})", seeded)
    named = load(folder, "names.pt")
    for name in NAMED_ONLY:
        with torch.device("meta"):
            expected = getattr(torchvision.models, name)()
        expect_names(name, named[name], shapes(expected.state_dict()))

print(f"{len(CASES)} models computed and {len(NAMED_ONLY)} more compared by name: {failures} differences")
sys.exit(failures != 0)
